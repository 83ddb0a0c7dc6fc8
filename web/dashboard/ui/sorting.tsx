/** Tables that are sorted by a column. What they are sorted by is in the address: `?sort=name`, or `?sort=-name` for the other way round. */
import { useMemo } from "preact/hooks";
import { parameters, setParameters } from "../address/router.ts";
import type { Value } from "../text/csv.ts";
import type { Column } from "./columns.ts";

type Direction = "ascending" | "descending";

interface Order<T> {
  readonly column: Column<T>;
  readonly direction: Direction;
}

/** Names of columns in the parameter, for those that the call itself sorts by. */
type ByCall = Readonly<Record<string, string>> | undefined;

const TEXTS = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** "Messages/s" → "messages-s". */
const nameOf = ({ title }: { readonly title: string }): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

export const isSortable = <T,>({ title, value }: Column<T>, byCall: ByCall): boolean =>
  value !== undefined || byCall?.[title] !== undefined;

/** Numbers and times begin with the largest, which one mostly looks for. */
const firstOf = <T,>({ isNumber, isTime }: Column<T>): Direction => (isNumber || isTime ? "descending" : "ascending");

function orderIn<T>(columns: readonly Column<T>[], chosen: string, byCall: ByCall): Order<T> | undefined {
  if (chosen === "") return undefined;
  for (const column of columns) {
    if (byCall?.[column.title] === chosen) return { column, direction: firstOf(column) };
    if (!column.value) continue;
    if (chosen === nameOf(column)) return { column, direction: "ascending" };
    if (chosen === `-${nameOf(column)}`) return { column, direction: "descending" };
  }
  return undefined;
}

/** Missing values come last, either way. */
function compared(one: Value, other: Value, direction: Direction): number {
  const isMissing = [one, other].map((value) => value === null || value === undefined || value === "");
  if (isMissing[0] || isMissing[1]) return Number(isMissing[0]) - Number(isMissing[1]);
  const difference =
    typeof one === "string" || typeof other === "string"
      ? TEXTS.compare(String(one), String(other))
      : Number(one) - Number(other);
  return direction === "ascending" ? difference : -difference;
}

/** The rows as the address wants them, which are the given ones if it does not say, or if the call has sorted them. */
export function useSorted<T>(
  given: readonly T[],
  columns: readonly Column<T>[],
  parameter: string | undefined,
  byCall: ByCall,
): { readonly rows: readonly T[]; readonly order: Order<T> | undefined } {
  const chosen = parameter === undefined ? "" : (parameters.value.get(parameter) ?? "");
  const order = orderIn(columns, chosen, byCall);
  const value = order && byCall?.[order.column.title] === undefined ? order.column.value : undefined;
  const rows = useMemo(
    () =>
      order && value
        ? given
            .map((row) => [row, value(row)] as const)
            .sort(([, one], [, other]) => compared(one, other, order.direction))
            .map(([row]) => row)
        : given,
    [given, chosen],
  );
  return { rows, order };
}

const MARKS: Readonly<Record<Direction, string>> = { ascending: "↑", descending: "↓" };

interface ColumnTitleProps<T> {
  readonly column: Column<T>;
  readonly order: Order<T> | undefined;
  readonly parameter: string;
  readonly byCall: ByCall;
}

/** Sorts by the column, then the other way round, then not at all. */
export function ColumnTitle<T>({ column, order, parameter, byCall }: ColumnTitleProps<T>) {
  const called = byCall?.[column.title];
  const direction = order?.column === column ? order.direction : undefined;
  const first = firstOf(column);
  const next = (): string => {
    if (called !== undefined) return direction ? "" : called;
    const wanted = direction === undefined ? first : direction === first ? opposite(first) : undefined;
    if (wanted === undefined) return "";
    return wanted === "ascending" ? nameOf(column) : `-${nameOf(column)}`;
  };
  return (
    <button type="button" class={`sort ${direction ?? ""}`} onClick={() => setParameters({ [parameter]: next() })}>
      {column.title}
      <span class="sort-mark" aria-hidden="true">
        {direction ? MARKS[direction] : "↕"}
      </span>
    </button>
  );
}

const opposite = (direction: Direction): Direction => (direction === "ascending" ? "descending" : "ascending");
