/** Tables. Long ones draw only the rows that are in view, and load further pages as one scrolls towards the end. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { whole } from "../text/format.ts";
import type { Column } from "./columns.ts";
import { ColumnTitle, isSortable, useSorted } from "./sorting.tsx";
import { Term } from "./term.tsx";

export type { Column } from "./columns.ts";

interface TableProps<T> {
  /** What the table lists, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Shown instead of the table if there are no rows. */
  readonly empty: ComponentChildren;
  /** Every row has one line and the same height; only those in view are drawn. */
  readonly isVirtual?: boolean;
  /** Where it is narrow, each row becomes a list of all its columns. Not for tables of more than WHOLE_ROWS. */
  readonly isStacked?: boolean;
  /** Columns have their given widths, whatever is in them, and long text is broken or cut. */
  readonly isFixed?: boolean;
  readonly hasMore?: boolean;
  readonly loadMore?: () => void;
  /** Rows of the whole list, if they are known. */
  readonly total?: number | undefined;
  /** The parameter of the address that has what the rows are sorted by. Absent: they stay in their order. */
  readonly sortIn?: string;
  /** Columns that the call itself sorts by, and how the parameter names them. */
  readonly sortedByCall?: Readonly<Record<string, string>>;
  /** Gets the rows in view, with some above and below. */
  readonly onLook?: (from: number, to: number) => void;
}

/** Also the height of a row in styles/tables.css, before one is drawn. */
const ROW_PX = 41;
/** Rows drawn above and below what is in view. */
const MARGIN_ROWS = 20;
/** Tables up to this length are drawn whole. */
const WHOLE_ROWS = 60;

const classOf = <T,>({ isNumber, isMinor, isMedium }: Omit<Column<T>, "cell">): string =>
  [isNumber && "number", isMinor && "minor", isMedium && "medium"].filter(Boolean).join(" ");

const widthOf = <T,>({ width, rem }: Omit<Column<T>, "cell">): string | undefined => {
  if (rem !== undefined) return `${rem}rem`;
  return width === undefined ? undefined : `${width}%`;
};

export function Table<T>({
  label,
  columns,
  rows: given,
  keyOf,
  empty,
  isVirtual,
  isStacked,
  isFixed,
  hasMore,
  loadMore,
  total,
  sortIn,
  sortedByCall,
  onLook,
}: TableProps<T>) {
  const { rows, order } = useSorted(given, columns, sortIn, sortedByCall);
  // Rows that are sorted here may be anywhere in the list.
  const isMixed = rows !== given;
  const body = useRef<HTMLTableSectionElement>(null);
  const first = useSignal(0);
  const last = useSignal(60);
  const rowPx = useSignal(ROW_PX);
  useEffect(() => {
    if (!isVirtual) return;
    const look = (): void => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      rowPx.value = body.current?.querySelector<HTMLElement>("[aria-rowindex]")?.offsetHeight || ROW_PX;
      first.value = Math.max(0, Math.floor(-top / rowPx.value) - MARGIN_ROWS);
      last.value = Math.ceil((innerHeight - top) / rowPx.value) + MARGIN_ROWS;
      onLook?.(isMixed ? 0 : first.value, isMixed ? rows.length : last.value);
      if (hasMore && last.value >= rows.length) loadMore?.();
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [isVirtual, hasMore, loadMore, rows.length, isMixed]);
  useKeptPlace(body, rows, keyOf, rowPx.value);
  if (rows.length === 0) return <>{empty}</>;
  const isPartial = isVirtual && rows.length > WHOLE_ROWS;
  const from = isPartial ? Math.min(first.value, rows.length - 1) : 0;
  const to = isPartial ? Math.min(Math.max(last.value, from), rows.length) : rows.length;
  return (
    <div class="table-frame">
      <table
        class={[
          isVirtual && "virtual",
          isFixed && "fixed",
          isStacked && "stacked",
          columns.some(({ below }) => below) && "two-lines",
        ]
          .filter(Boolean)
          .join(" ")}
        aria-label={label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
      >
        <colgroup>
          {columns.map((column) => (
            <col key={column.title} class={classOf(column)} style={{ width: widthOf(column) }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                class={classOf(column)}
                aria-sort={order?.column === column ? order.direction : undefined}
              >
                {sortIn !== undefined && isSortable(column, sortedByCall) ? (
                  <ColumnTitle column={column} order={order} parameter={sortIn} byCall={sortedByCall} />
                ) : (
                  column.title
                )}
                {column.meaning && <Term name={column.title} meaning={column.meaning} isBare />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          <Space px={from * rowPx.value} />
          {rows.slice(from, to).map((row, at) => (
            <tr key={keyOf(row)} aria-rowindex={isVirtual ? from + at + 2 : undefined}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)} data-title={column.title}>
                  {column.cell(row)}
                  {column.below && <div class="second-line muted small">{column.below(row)}</div>}
                </td>
              ))}
            </tr>
          ))}
          <Space px={(rows.length - to) * rowPx.value} />
        </tbody>
      </table>
      {isMixed && hasMore && (
        <p class="list-foot muted small">
          Sorted among the {whole(rows.length)} loaded{total !== undefined && ` of ${whole(total)}`}; scroll for more.
        </p>
      )}
      {hasMore && !isVirtual && (
        <button type="button" class="more" onClick={loadMore}>
          Show more
        </button>
      )}
    </div>
  );
}

/** A row in view, before other rows come or go above it. */
interface Place {
  readonly element: HTMLTableRowElement;
  readonly key: string | undefined;
  readonly index: number;
  readonly top: number;
}

/** Who has scrolled into the list keeps the rows in view where they are. Browsers do not do this within tables. */
function useKeptPlace<T>(
  body: { readonly current: HTMLTableSectionElement | null },
  rows: readonly T[],
  keyOf: (row: T) => string,
  rowPx: number,
): void {
  const drawn = useRef(rows);
  // While this renders, the page still has the rows as they were.
  const before = drawn.current === rows ? undefined : placeIn(body.current, drawn.current, keyOf);
  drawn.current = rows;
  useLayoutEffect(() => {
    if (!before) return;
    const { element, key, index, top } = before;
    const now = rows.findIndex((row) => keyOf(row) === key);
    // A row that is gone leaves its place to the next one.
    if (now < 0) return;
    const moved = element.isConnected ? element.getBoundingClientRect().top - top : (now - index) * rowPx;
    if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: "instant" });
  }, [rows]);
}

/** undefined: the beginning of the list is in view, where new rows appear. */
function placeIn<T>(
  body: HTMLTableSectionElement | null,
  rows: readonly T[],
  keyOf: (row: T) => string,
): Place | undefined {
  if (!body || body.getBoundingClientRect().top >= 0) return undefined;
  const focused = [...body.rows].filter((row) => row.contains(document.activeElement));
  for (const element of [...focused, ...body.rows]) {
    const { top, bottom } = element.getBoundingClientRect();
    if (bottom <= 0 || top >= innerHeight || !element.hasAttribute("aria-rowindex")) continue;
    // The first row of the table has the index 2, after its head.
    const index = Number(element.getAttribute("aria-rowindex")) - 2;
    const row = rows[index];
    return { element, key: row && keyOf(row), index, top };
  }
  return undefined;
}

/** Takes the place of rows that are not drawn. One cell: spanning columns that are hidden where narrow would bring them back, empty. */
const Space = ({ px }: { readonly px: number }) =>
  px > 0 ? (
    <tr>
      <td class="space" style={{ height: `${px}px` }} />
    </tr>
  ) : null;
