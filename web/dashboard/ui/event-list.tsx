/** Events in lines, newest last. Only those in view are drawn, and the newest stays in view until the reader scrolls. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { isMissing as isAboutMissing, type KeptEvent, type Tail } from "../tail/tail.ts";
import { detailOf, kindText, roleOf, signOf, weightOf } from "../text/event-text.ts";
import { clock } from "../text/format.ts";
import { Badge } from "./values.tsx";

interface EventListProps {
  /** What the list has, for screen readers. */
  readonly label: string;
  /** Oldest first. */
  readonly events: readonly KeptEvent[];
  readonly selected: KeptEvent | undefined;
  readonly onSelect: (chosen: KeptEvent | undefined) => void;
  /** A reader who looks at older events pauses the tail: otherwise they would be gone soon. */
  readonly tail: Tail;
  /** Columns beyond time, kind, peer and detail. */
  readonly nameOfApp?: ((id: string) => string) | undefined;
  readonly hasChannel?: boolean;
  /** A link at the end of an event, such as the explanation of a refusal. */
  readonly linkOf?: (event: KeptEvent) => ComponentChildren;
  /** Shown while there are no events. */
  readonly empty: ComponentChildren;
}

/** Also in styles/live.css: on a narrow screen an event has two lines. */
const ROW_PX = 30;
const NARROW_ROW_PX = 52;
const NARROW = "(max-width: 48rem)";
const MARGIN_ROWS = 10;

/** The index of the first event that is not older than `id`. */
function indexOf(events: readonly KeptEvent[], id: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function EventList(props: EventListProps) {
  const { label, events, selected, onSelect, tail, empty } = props;
  const element = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  const heightPx = useSignal(600);
  const rowPx = useSignal(matchMedia(NARROW).matches ? NARROW_ROW_PX : ROW_PX);
  const lastTop = useRef(0);
  /** Paused by scrolling: scrolling back to the end resumes. */
  const isScrolled = useRef(false);
  const id = useId();
  const row = rowPx.value;
  const bottom = Math.max(0, events.length * row - heightPx.value);
  const isPaused = tail.isPaused.value;
  const top = isPaused ? Math.min(bottom, indexOf(events, tail.place.id) * row + tail.place.offsetPx) : bottom;
  const anchorAt = (topPx: number): void => {
    const at = Math.floor(topPx / row);
    tail.place.id = events[at]?.id ?? 0;
    tail.place.offsetPx = topPx - at * row;
  };
  if (!isPaused) {
    anchorAt(top);
    isScrolled.current = false;
  }
  const first = Math.max(0, Math.floor(top / row) - MARGIN_ROWS);
  const drawn = events.slice(first, Math.ceil((top + heightPx.value) / row) + MARGIN_ROWS);
  // Rows that leave the view become those that enter it: thousands of events a second would cost too many elements.
  const reused = Math.ceil(heightPx.value / row) + 2 * MARGIN_ROWS + 2;

  useEffect(() => {
    const list = element.current;
    if (!list) return;
    const sizes = new ResizeObserver(() => {
      heightPx.value = list.clientHeight;
      rowPx.value = matchMedia(NARROW).matches ? NARROW_ROW_PX : ROW_PX;
    });
    sizes.observe(list);
    return () => sizes.disconnect();
  }, []);
  useLayoutEffect(() => {
    const list = element.current;
    if (!list) return;
    if (Math.abs(list.scrollTop - top) >= 1) list.scrollTop = top;
    lastTop.current = list.scrollTop;
  });

  const holdAt = (topPx: number): void => {
    anchorAt(topPx);
    redraw(undefined);
    tail.pause();
  };
  const scrolled = (): void => {
    const now = element.current?.scrollTop ?? 0;
    const before = lastTop.current;
    lastTop.current = now;
    // The list has become shorter, or was scrolled from here.
    if (Math.abs(now - before) < 1) return;
    const isAtEnd = bottom - now <= 1;
    if (isAtEnd && isScrolled.current) tail.resume();
    // Without a pause, only a reader scrolls upwards.
    else if (isPaused || (now < before - 1 && !isAtEnd)) {
      isScrolled.current ||= !isPaused;
      holdAt(now);
    }
  };
  const choose = (at: number): void => {
    const chosen = events[Math.max(0, Math.min(at, events.length - 1))];
    if (!chosen) return;
    onSelect(chosen);
    isScrolled.current = false;
    const rowTop = events.indexOf(chosen) * row;
    holdAt(Math.max(rowTop + row - heightPx.value, Math.min(top, rowTop)));
  };
  const keyed = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget) return;
    const at = selected ? indexOf(events, selected.id) : events.length;
    const page = Math.max(1, Math.floor(heightPx.value / row) - 1);
    const moves: Record<string, number> = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      PageUp: at - page,
      PageDown: at + page,
      Home: 0,
      End: events.length - 1,
    };
    const to = moves[event.key];
    if (to !== undefined) choose(to);
    else if (event.key === "Escape") onSelect(undefined);
    else return;
    event.preventDefault();
  };

  const isDrawn = selected && drawn.includes(selected);
  return (
    <div class="events-frame">
      {/* biome-ignore lint/a11y/useSemanticElements: a table cannot place its rows */}
      <div
        ref={element}
        class="events"
        role="grid"
        tabIndex={0}
        aria-label={label}
        aria-rowcount={events.length}
        aria-activedescendant={isDrawn ? `${id}-${selected.id}` : undefined}
        onScroll={scrolled}
        onKeyDown={keyed}
      >
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        <div role="rowgroup" class="events-rows" style={{ height: `${events.length * row}px` }}>
          {drawn.map((one, at) => (
            <Row
              key={(first + at) % reused}
              {...props}
              id={`${id}-${one.id}`}
              one={one}
              at={first + at}
              topPx={(first + at) * row}
              onChoose={() => choose(first + at)}
            />
          ))}
        </div>
      </div>
      {events.length === 0 && <div class="events-empty">{empty}</div>}
      {isPaused && bottom - top > 1 && (
        <button type="button" class="small events-newest" onClick={() => tail.resume()}>
          Newest ↓
        </button>
      )}
    </div>
  );
}

interface RowProps extends EventListProps {
  readonly id: string;
  readonly one: KeptEvent;
  readonly at: number;
  readonly topPx: number;
  readonly onChoose: () => void;
}

function Row({ id, one, at, topPx, selected, nameOfApp, hasChannel = true, linkOf, onChoose }: RowProps) {
  const { event } = one;
  const isMissing = isAboutMissing(event);
  // What is known about a refusal is in its text, which then has the place of both.
  const isWide = isMissing || (event.peerId === undefined && event.channel === undefined);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus, and names the chosen row
    // biome-ignore lint/a11y/useSemanticElements: as above
    <div
      role="row"
      id={id}
      class={`event ${weightOf(event.kind)} ${nameOfApp ? "has-app" : ""} ${hasChannel ? "" : "no-channel"} ${isWide ? "wide" : ""} ${isMissing ? "missing" : ""}`}
      aria-rowindex={at + 1}
      aria-selected={selected?.id === one.id}
      style={{ transform: `translateY(${topPx}px)` }}
      onClick={onChoose}
    >
      <Cell class="muted event-time">
        {clock(event.at)}
        <span class="event-ms">.{String(event.at % 1000).padStart(3, "0")}</span>
      </Cell>
      <Cell class="event-kind">
        <Badge kind={roleOf(event.kind)}>
          {signOf(event.kind) && <span aria-hidden="true">{signOf(event.kind)} </span>}
          {kindText(event.kind)}
        </Badge>
      </Cell>
      {nameOfApp && <Cell class="event-app">{event.app === undefined ? "" : nameOfApp(event.app)}</Cell>}
      {!isWide && <Cell class="event-peer mono">{event.peerId ?? ""}</Cell>}
      <div role="presentation" class="event-rest">
        {!isWide && hasChannel && <Cell class="event-channel mono">{event.channel ?? ""}</Cell>}
        <Cell class="event-detail muted">{detailOf(event)}</Cell>
        {linkOf && <Cell class="event-link">{linkOf(one)}</Cell>}
      </div>
    </div>
  );
}

const Cell = ({ class: extra, children }: { readonly class: string; readonly children: ComponentChildren }) => (
  // biome-ignore lint/a11y/useSemanticElements: as above
  // biome-ignore lint/a11y/useFocusableInteractive: as above
  <div role="gridcell" class={extra}>
    {children}
  </div>
);
