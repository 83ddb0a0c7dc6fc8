/**
 * The live tail: events as they come, in a bounded list that changes at most once per `nextFrame` (use-tail.ts: every 100 ms). It knows no
 * browser: use-tail.ts connects it to an EventSource, and its test to a source that is written by hand.
 */
import { batch, signal } from "@preact/signals";
import type { TailEvent } from "../api/types.ts";
import { matching } from "../drafts/scope.ts";

export const TAIL_KINDS = [
  "connect",
  "refuse",
  "subscribe",
  "unsubscribe",
  "publish",
  "send",
  "presence",
  "error",
  "close",
  "state",
  "renew",
] as const;

/** The most events that a page keeps; the oldest go first. */
export const KEPT_MAX = 2000;
/** With more hidden events than this in a second the service is asked for the others only: they would crowd these out. */
const HIDDEN_PER_SEC_MAX = 100;
/** Waits before each attempt to connect anew; the last one repeats. */
const RETRY_MS = [1000, 2000, 4000, 8000, 15_000] as const;

export interface TailFilter {
  /** The id of an application. */
  readonly app?: string | undefined;
  /** A channel pattern. */
  readonly channel?: string | undefined;
  /** A peer id, or its beginning and `*`. */
  readonly peer?: string | undefined;
  readonly key?: string | undefined;
  /** Absent: all. */
  readonly kinds?: readonly string[] | undefined;
}

export interface KeptEvent {
  /** Grows with every event. */
  readonly id: number;
  readonly event: TailEvent;
  /** As it came, in lower case: what a search looks at. */
  readonly text: string;
}

/** `refused`: the service has answered 4xx, for example because of the filters, or other tabs have all TAIL_PLACES. `ended`: the session is over. */
export type TailState = "connecting" | "live" | "reconnecting" | "refused" | "ended";

/** What a source cannot say itself: an EventSource shows no status. */
export type Diagnosis = { readonly ended: true } | { readonly refused: string } | undefined;

export interface SourceEvents {
  opened(): void;
  /** One event, as a line of JSON. */
  line(text: string): void;
  failed(): void;
}

interface TailParts {
  /** Connects and returns how to close it. After `failed` the source is closed and a new one is opened later. */
  readonly open: (filter: TailFilter, events: SourceEvents) => () => void;
  /** Why the source failed. undefined: nothing is known to be wrong, so it is tried anew. */
  readonly diagnose: (filter: TailFilter) => Promise<Diagnosis>;
  /** Runs it before the next picture is drawn. */
  readonly nextFrame: (run: () => void) => void;
  /** Runs it later; returns how to cancel it. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly nowMs: () => number;
}

export class Tail {
  readonly state = signal<TailState>("connecting");
  /** Why it was refused. */
  readonly refusal = signal("");
  /** Oldest first. Bound: KEPT_MAX. */
  readonly events = signal<readonly KeptEvent[]>([]);
  readonly isPaused = signal(false);
  /** Events that came while it was paused. */
  readonly waiting = signal(0);
  /** Events by kind, hidden ones too, since it began or was cleared. Bound: the kinds that nodes send. */
  readonly counts = signal<ReadonlyMap<string, number>>(new Map());
  /** There are too many hidden events: they are not sent and not counted any more. */
  readonly isNarrow = signal(false);

  /** Lines that are not shown yet. Bound: at most twice KEPT_MAX, because a hidden page has no frames. */
  private pending: string[] = [];
  private pendingCount = 0;
  private lastId = 0;
  private attempts = 0;
  private isFrameAsked = false;
  private lostMs: number | undefined;
  /** Since when its page is closed. */
  private leftMs: number | undefined;
  private stop: () => void = () => undefined;
  /** Changes with every connection: what an earlier one still reports is ignored. */
  private current = 0;

  /** The event at the upper edge of its list, which stays there while the tail is paused. */
  readonly place = { id: 0, offsetPx: 0 };

  private filter: TailFilter = {};
  private hidden: ReadonlySet<string> = new Set();
  /** What `counts` becomes with the next frame. Bound: as `counts`. */
  private readonly counted = new Map<string, number>();
  private hiddenSince = { ms: 0, count: 0 };

  constructor(private readonly parts: TailParts) {}

  /** Connects, and shows these events from now on. Those on the page that match stay. */
  watch(filter: TailFilter): void {
    this.filter = filter;
    this.flush();
    batch(() => {
      this.events.value = this.events.value.filter(({ event }) => matches(filter, event));
      this.state.value = "connecting";
      this.refusal.value = "";
    });
    this.attempts = 0;
    this.lostMs = undefined;
    if (this.leftMs !== undefined) this.take(JSON.stringify({ at: this.leftMs, kind: "closed" }));
    this.leftMs = undefined;
    this.connect();
  }

  /** Events of these kinds are counted, but neither shown nor kept. */
  hide(kinds: readonly string[]): void {
    this.flush();
    this.hidden = new Set(kinds);
    batch(() => {
      this.isNarrow.value = false;
      this.events.value = this.events.value.filter(({ event }) => !this.hidden.has(event.kind));
    });
  }

  pause(): void {
    this.flush();
    this.isPaused.value = true;
  }

  resume(): void {
    this.isPaused.value = false;
    this.flush();
  }

  clear(): void {
    this.pending = [];
    this.pendingCount = 0;
    this.counted.clear();
    batch(() => {
      this.events.value = [];
      this.waiting.value = 0;
      this.counts.value = new Map();
    });
  }

  close(): void {
    this.current++;
    this.stop();
    this.stop = () => undefined;
  }

  /** Closes it with its page. Its next `watch` marks that events after those on the page are missing. */
  leave(): void {
    this.flush();
    const since = this.state.value === "live" ? this.parts.nowMs() : this.lostMs;
    this.leftMs = this.events.value.length === 0 ? undefined : since;
    this.close();
  }

  private connect(): void {
    this.close();
    const connection = this.current;
    const isCurrent = (): boolean => connection === this.current;
    this.stop = this.parts.open(this.filter, {
      opened: () => isCurrent() && this.opened(),
      line: (text) => isCurrent() && this.take(text),
      failed: () => isCurrent() && this.failed(),
    });
  }

  private opened(): void {
    this.attempts = 0;
    this.state.value = "live";
    if (this.lostMs === undefined) return;
    this.take(JSON.stringify({ at: this.lostMs, kind: "gap" }));
    this.lostMs = undefined;
  }

  private failed(): void {
    this.close();
    const connection = this.current;
    if (this.state.value === "live") this.lostMs = this.parts.nowMs();
    this.state.value = "reconnecting";
    void this.parts.diagnose(this.filter).then((found) => {
      if (connection !== this.current) return;
      if (!found) {
        const wait = RETRY_MS[Math.min(this.attempts++, RETRY_MS.length - 1)] ?? 0;
        this.stop = this.parts.after(wait, () => this.connect());
      } else if ("ended" in found) this.state.value = "ended";
      else {
        this.refusal.value = found.refused;
        this.state.value = "refused";
      }
    });
  }

  private take(line: string): void {
    const kind = kindOf(line);
    this.counted.set(kind, (this.counted.get(kind) ?? 0) + 1);
    if (this.hidden.has(kind)) this.noteHidden();
    else {
      this.pending.push(line);
      this.pendingCount++;
      if (this.pending.length >= 2 * KEPT_MAX) this.pending = this.pending.slice(-KEPT_MAX);
    }
    // What the service has left out may be what is shown.
    if (kind === "dropped" && this.hidden.size > 0) this.isNarrow.value = true;
    if (this.isFrameAsked) return;
    this.isFrameAsked = true;
    this.parts.nextFrame(() => {
      this.isFrameAsked = false;
      this.flush();
    });
  }

  private noteHidden(): void {
    const now = this.parts.nowMs();
    if (now - this.hiddenSince.ms >= 1000) this.hiddenSince = { ms: now, count: 0 };
    if (++this.hiddenSince.count > HIDDEN_PER_SEC_MAX) this.isNarrow.value = true;
  }

  private flush(): void {
    this.counts.value = new Map(this.counted);
    if (this.isPaused.value) {
      this.waiting.value = this.pendingCount;
      return;
    }
    if (this.pending.length === 0) return;
    const added = this.pending.slice(-KEPT_MAX).flatMap((line) => this.kept(line));
    this.pending = [];
    this.pendingCount = 0;
    batch(() => {
      this.waiting.value = 0;
      this.events.value = [...this.events.value, ...added].slice(-KEPT_MAX);
    });
  }

  private kept(line: string): KeptEvent[] {
    try {
      return [{ id: ++this.lastId, event: JSON.parse(line) as TailEvent, text: line.toLowerCase() }];
    } catch {
      return [];
    }
  }
}

/** Nodes write it near the beginning; a payload may have something like it later. */
const kindOf = (line: string): string => /^\{"at":[\d.]+,"kind":"(\w+)"/.exec(line)?.[1] ?? "";

/** Kinds that say where events are missing. */
const MISSING: readonly string[] = ["dropped", "gap", "closed"];
export const isMissing = ({ kind }: TailEvent): boolean => MISSING.includes(kind);

/** Where events are missing always matches. */
export function matches({ app, channel, peer, key, kinds }: TailFilter, event: TailEvent): boolean {
  if (isMissing(event)) return true;
  const isPeer = (id: string | undefined): boolean =>
    id !== undefined && (peer?.endsWith("*") ? id.startsWith(peer.slice(0, -1)) : id === peer);
  return (
    (!app || event.app === app) &&
    (!key || event.keyId === key) &&
    (!peer || isPeer(event.peerId) || isPeer(event.to)) &&
    (!channel || (event.channel !== undefined && matching([channel], event.channel).length > 0)) &&
    (!kinds || kinds.includes(event.kind))
  );
}

/** Events with this text in them. */
export function searched(events: readonly KeptEvent[], text: string): readonly KeptEvent[] {
  const wanted = text.trim().toLowerCase();
  return wanted === "" ? events : events.filter((one) => one.text.includes(wanted));
}
