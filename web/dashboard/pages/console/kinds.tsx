/** Which kinds of events the console shows: one click hides what there is most of, or all but what went wrong. */
import { useId } from "preact/hooks";
import { parameters, setParameters } from "../../address/router.ts";
import { TAIL_KINDS, type Tail } from "../../tail/tail.ts";
import { signOf, weightOf } from "../../text/event-text.ts";
import { short } from "../../text/format.ts";

/** In the address if no kind is chosen: without the parameter all are. */
const NONE = "none";
const PROBLEMS: readonly string[] = ["refuse", "error"];
/** What went wrong first, what there is most of later. */
const ORDER = [...PROBLEMS, ...TAIL_KINDS.filter((kind) => !PROBLEMS.includes(kind))];

function shownKinds(given: URLSearchParams): readonly string[] {
  const kinds = given.get("kind")?.split(",");
  return kinds ? TAIL_KINDS.filter((kind) => kinds.includes(kind)) : TAIL_KINDS;
}

export const hiddenKinds = (given: URLSearchParams): readonly string[] => {
  const shown = shownKinds(given);
  return TAIL_KINDS.filter((kind) => !shown.includes(kind));
};

const show = (kinds: readonly string[]): void =>
  setParameters({ kind: kinds.length === TAIL_KINDS.length ? "" : kinds.join() || NONE });

export function Kinds({ tail }: { readonly tail: Tail }) {
  const id = useId();
  const shown = shownKinds(parameters.value);
  const isAll = shown.length === TAIL_KINDS.length;
  const isProblems = shown.join() === PROBLEMS.join();
  const counts = tail.counts.value;
  return (
    <fieldset class="kinds">
      <legend class="hidden-text">Kinds of events</legend>
      <button type="button" class="small" disabled={isProblems} onClick={() => show(PROBLEMS)}>
        Only problems
      </button>
      <button type="button" class="small" onClick={() => show(isAll ? [] : TAIL_KINDS)}>
        {isAll ? "None" : "All"}
        <span class="hidden-text"> of the kinds</span>
      </button>
      {ORDER.map((kind) => {
        const isShown = shown.includes(kind);
        const count = counts.get(kind) ?? 0;
        return (
          <label key={kind} class={`kind ${weightOf(kind)} ${isShown ? "shown" : ""}`}>
            <input
              type="checkbox"
              class="hidden-text"
              checked={isShown}
              aria-describedby={`${id}-${kind}`}
              onChange={() => show(TAIL_KINDS.filter((one) => (one === kind ? !isShown : shown.includes(one))))}
            />
            {signOf(kind) && <span aria-hidden="true">{signOf(kind)}</span>}
            <span class="kind-name">{kind}</span>
            <span id={`${id}-${kind}`} class="kind-count" aria-hidden="true">
              {short(count)}
              {!isShown && count > 0 && tail.isNarrow.value && "+"}
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}

/** How many events came that are not shown. */
export function hiddenCount(tail: Tail, hidden: readonly string[]): string {
  const count = hidden.reduce((sum, kind) => sum + (tail.counts.value.get(kind) ?? 0), 0);
  return count === 0 ? "" : `${short(count)}${tail.isNarrow.value ? "+" : ""} hidden`;
}
