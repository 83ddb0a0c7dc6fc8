/**
 * Plays the files of a meeting in step. One clock says where the meeting is; each file is held to its place on it: by a rate that differs a
 * little, or by a seek. A file that has to wait for bytes holds the clock and all others, for a while. One that cannot be played is left out.
 */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { isAt, type Timeline, type Track } from "./timeline.ts";

/** What of a media element is used. */
export interface PlayedMedia {
  currentTime: number;
  playbackRate: number;
  muted: boolean;
  readonly paused: boolean;
  readonly ended: boolean;
  readonly seeking: boolean;
  readonly readyState: number;
  readonly duration: number;
  play(): Promise<void>;
  pause(): void;
}

export const RATES = [1, 1.25, 1.5, 2] as const;

/** HTMLMediaElement.HAVE_FUTURE_DATA. */
const CAN_GO_ON = 3;
/** Beyond this a file seeks; a seek is heard. */
const SEEK_BEYOND_S = 0.25;
/** While nothing moves, a picture must be that of its moment. */
const STILL_SEEK_BEYOND_S = 0.04;
/** Below this a file is in step. */
const IN_STEP_S = 0.03;
/** How much faster or slower a file may play than the others: it is not heard. */
const BEND_MAX = 0.08;
/** Between two seeks of a file that plays: one that cannot seek must not try without end. */
const SEEK_EVERY_MS = 1500;
/** The others wait no longer for one file. */
const WAIT_MAX_MS = 10_000;
/** A shorter wait is not worth a word. */
const WAIT_SHOWN_MS = 400;
/** A tab in the background is not called for a while: what it has missed is not played. */
const STEP_MAX_MS = 1500;

/** By then the person who was asked for speaks: a jump goes to half a second before. */
const ASKED_MS = 2000;

interface Attached {
  readonly track: Track;
  readonly media: PlayedMedia;
  seekedMs: number;
  /** Since when it has no bytes; it is not waited for any more after WAIT_MAX_MS. */
  waitsSinceMs: number | undefined;
}

export class MeetingPlayer {
  /** ms from the start of the meeting. */
  readonly position: ReadonlySignal<number>;
  readonly isPlaying: ReadonlySignal<boolean>;
  /** Bytes are on their way. */
  readonly isWaiting: ReadonlySignal<boolean>;
  readonly rate: ReadonlySignal<number>;
  /** Lanes. */
  readonly muted: ReadonlySignal<ReadonlySet<string>>;
  /** The lane of the person who was asked for, for a moment after the jump to them. */
  readonly asked: ReadonlySignal<string | undefined>;
  /** Tracks that cannot be played. */
  readonly broken: ReadonlySignal<ReadonlySet<string>>;
  readonly #position: Signal<number> = signal(0);
  readonly #isPlaying = signal(false);
  readonly #isWaiting = signal(false);
  readonly #rate = signal(1);
  readonly #muted: Signal<ReadonlySet<string>> = signal(new Set<string>());
  readonly #asked = signal<string | undefined>(undefined);
  #askedUntil = 0;
  readonly #broken: Signal<ReadonlySet<string>> = signal(new Set<string>());
  readonly #attached = new Map<string, Attached>();
  readonly #timeline: Timeline;
  readonly #nowMs: () => number;
  #lastMs: number;

  constructor(timeline: Timeline, nowMs: () => number = () => performance.now()) {
    this.#timeline = timeline;
    this.#nowMs = nowMs;
    this.#lastMs = nowMs();
    this.position = this.#position;
    this.isPlaying = this.#isPlaying;
    this.isWaiting = this.#isWaiting;
    this.rate = this.#rate;
    this.muted = this.#muted;
    this.asked = this.#asked;
    this.broken = this.#broken;
  }

  /** From now on the element plays the track. Returns what ends that. */
  attach(track: Track, media: PlayedMedia): () => void {
    this.#attached.set(track.id, { track, media, seekedMs: Number.NEGATIVE_INFINITY, waitsSinceMs: undefined });
    media.muted = this.#muted.peek().has(track.lane);
    this.tick();
    return () => {
      media.pause();
      this.#attached.delete(track.id);
    };
  }

  /** The file of a track cannot be played. */
  fail(track: string): void {
    this.#broken.value = new Set([...this.#broken.peek(), track]);
    this.#attached.get(track)?.media.pause();
  }

  play(): void {
    // At the end it begins anew.
    if (this.#position.peek() >= this.#timeline.length) this.#position.value = 0;
    this.#lastMs = this.#nowMs();
    this.#isPlaying.value = true;
    this.tick();
  }

  pause(): void {
    this.#isPlaying.value = false;
    this.#isWaiting.value = false;
    this.tick();
  }

  toggle(): void {
    if (this.#isPlaying.peek()) this.pause();
    else this.play();
  }

  /** `lane`: of the person who speaks there. */
  seek(ms: number, lane?: string): void {
    this.#position.value = Math.max(0, Math.min(this.#timeline.length, ms));
    this.#asked.value = lane;
    this.#askedUntil = this.#position.peek() + ASKED_MS;
    this.#lastMs = this.#nowMs();
    for (const one of this.#attached.values()) {
      one.seekedMs = Number.NEGATIVE_INFINITY;
      one.waitsSinceMs = undefined;
    }
    this.tick();
  }

  setRate(rate: number): void {
    this.tick();
    this.#rate.value = rate;
    this.tick();
  }

  setMuted(lane: string, isMuted: boolean): void {
    const muted = new Set(this.#muted.peek());
    if (isMuted) muted.add(lane);
    else muted.delete(lane);
    this.#muted.value = muted;
    for (const { track, media } of this.#attached.values()) media.muted = muted.has(track.lane);
  }

  /** To be called often. */
  tick(): void {
    const nowMs = this.#nowMs();
    const elapsedMs = Math.min(STEP_MAX_MS, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
    const isHeld = this.#isPlaying.peek() && this.#isHeld(nowMs);
    if (this.#isPlaying.peek() && !isHeld) this.#advance(elapsedMs * this.#rate.peek());
    for (const one of this.#attached.values()) this.#steer(one, nowMs, isHeld);
  }

  #advance(ms: number): void {
    const { length } = this.#timeline;
    this.#position.value = Math.min(length, this.#position.peek() + ms);
    if (this.#position.peek() >= this.#askedUntil) this.#asked.value = undefined;
    if (this.#position.peek() >= length) this.#isPlaying.value = false;
  }

  /** Whether a file that should play has to wait. */
  #isHeld(nowMs: number): boolean {
    let heldMs = -1;
    for (const one of this.#attached.values()) {
      if (!this.#shouldPlay(one) || one.media.readyState >= CAN_GO_ON) {
        one.waitsSinceMs = undefined;
        continue;
      }
      one.waitsSinceMs ??= nowMs;
      const waitedMs = nowMs - one.waitsSinceMs;
      if (waitedMs < WAIT_MAX_MS) heldMs = Math.max(heldMs, waitedMs);
    }
    this.#isWaiting.value = heldMs >= WAIT_SHOWN_MS;
    return heldMs >= 0;
  }

  #shouldPlay({ track, media }: Attached): boolean {
    const at = this.#position.peek();
    return isAt(track, at) && !this.#broken.peek().has(track.id) && !isOver(media, (at - track.from) / 1000);
  }

  #steer(one: Attached, nowMs: number, isHeld: boolean): void {
    const { track, media } = one;
    const isMoving = this.#isPlaying.peek() && !isHeld;
    if (!this.#shouldPlay(one)) {
      rest(media);
      // Its first picture is there when its time comes.
      if (this.#position.peek() < track.from && media.currentTime > IN_STEP_S) media.currentTime = 0;
      return;
    }
    const wanted = (this.#position.peek() - track.from) / 1000;
    const drift = media.currentTime - wanted;
    const beyond = this.#isPlaying.peek() ? SEEK_BEYOND_S : STILL_SEEK_BEYOND_S;
    const mayCorrect = !media.seeking && nowMs - one.seekedMs >= SEEK_EVERY_MS;
    if (Math.abs(drift) > beyond && mayCorrect) {
      one.seekedMs = nowMs;
      media.currentTime = wanted;
    }
    const isBent = Math.abs(drift) > IN_STEP_S;
    const rate = this.#rate.peek() * (isBent ? 1 - Math.max(-BEND_MAX, Math.min(BEND_MAX, drift)) : 1);
    if (media.playbackRate !== rate) media.playbackRate = rate;
    if (!isMoving) rest(media);
    else if (media.paused) void media.play().catch((error: unknown) => this.#refused(error));
  }

  /** The browser wants a click first. Other failures are said by the element itself. */
  #refused(error: unknown): void {
    if (error instanceof DOMException && error.name === "NotAllowedError") this.pause();
  }
}

/** Chromium may never end a seek during which an element is paused: then it is paused after it, by a later tick. */
function rest(media: PlayedMedia): void {
  if (!media.paused && !media.seeking) media.pause();
}

/** The file is shorter than the service thought. */
const isOver = (media: PlayedMedia, atS: number): boolean =>
  Number.isFinite(media.duration) && media.readyState > 0 && atS >= media.duration - IN_STEP_S;
