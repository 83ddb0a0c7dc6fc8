/** Records what the page sends, as long as it may: one recorder per planned run, begun and ended as devices come and go. */
import { effect, type Signal, signal } from "@preact/signals";
import type { OwnMedia } from "../session/own-media.ts";
import type { Failure, RunObservation, RunObserver, Uploads } from "./contract.ts";
import { isSameRun, type PlannedRun, plannedRuns } from "./plan.ts";
import { CannotRecord, type RunRecorder, type startRecorder } from "./recorder.ts";

export interface OwnRecordingParts {
  readonly media: OwnMedia;
  readonly uploads: Uploads;
  readonly startRecorder: typeof startRecorder;
  readonly observe: RunObserver;
  readonly roomName: string;
}

/** Whose recording it is. */
export interface RecordedStay {
  readonly stay: string;
  /** The newest connect token. */
  readonly token: () => string;
}

interface LiveRun {
  readonly id: string;
  readonly planned: PlannedRun;
  readonly recorder: RunRecorder;
  readonly observation: RunObservation;
}

/** A camera that is being opened: otherwise each entry would make a short recording of the microphone alone. */
const CAMERA_WITHIN_MS = 3000;
/** Recorders that end by themselves are started again, a few times. */
const RESTARTS_MAX = 5;
/** A camera that is turned on and off without a network makes a run each time, and each has open files. */
const RUNS_MAX = 40;

export class OwnRecording {
  readonly #parts: OwnRecordingParts;
  readonly #isRunning = signal(false);
  readonly #failure: Signal<Failure | undefined> = signal(undefined);
  /** Changes when the runs must be looked at again, although no device has changed. */
  readonly #revision = signal(0);
  #live: LiveRun[] = [];
  /** Also those that have ended, and are being uploaded. Bound: runs of this page, some per minute at most. */
  readonly #own = new Set<string>();
  #restarts = 0;
  #waitsUntilMs = 0;
  #end: (() => void) | undefined;

  constructor(parts: OwnRecordingParts) {
    this.#parts = parts;
    parts.uploads.onFailed((run, why) => this.#failed(run, why));
  }

  /** Whether anything of this page is being recorded. */
  get isRunning(): Signal<boolean> {
    return this.#isRunning;
  }

  /** Why this page does not record, or does not record any more. */
  get failure(): Signal<Failure | undefined> {
    return this.#failure;
  }

  /** Only after the person has agreed. */
  start(stay: RecordedStay): void {
    if (this.#end) return;
    this.#failure.value = undefined;
    this.#restarts = 0;
    this.#waitsUntilMs = performance.now() + CAMERA_WITHIN_MS;
    const timer = setTimeout(() => this.#revision.value++, CAMERA_WITHIN_MS);
    const stopFollowing = effect(() => this.#follow(stay));
    this.#end = () => {
      clearTimeout(timer);
      stopFollowing();
    };
  }

  /** What was recorded is uploaded on. */
  stop(): void {
    this.#end?.();
    this.#end = undefined;
    for (const live of this.#live) stopRun(live);
    this.#setLive([]);
  }

  #follow(stay: RecordedStay): void {
    const { media } = this.#parts;
    void this.#revision.value;
    const isMuted = media.isMuted.value;
    const isCameraComing = media.starting.value.includes("video");
    const planned = plannedRuns(media.tracks.value, isMuted);
    const kept = this.#live.filter((live) => planned.some((one) => isSameRun(one, live.planned)));
    for (const live of this.#live.filter((live) => !kept.includes(live))) stopRun(live);
    for (const { recorder, observation } of kept) for (const one of [recorder, observation]) one.setMuted(isMuted);
    const fresh = planned.filter((one) => {
      const isWaiting = one.source === "microphone" && isCameraComing && performance.now() < this.#waitsUntilMs;
      return !one.isSilent && !isWaiting && !kept.some((live) => isSameRun(one, live.planned));
    });
    this.#setLive([...kept, ...fresh.flatMap((one) => this.#begin(one, stay, isMuted))]);
  }

  #begin(planned: PlannedRun, { stay, token }: RecordedStay, isMuted: boolean): LiveRun[] {
    const { uploads, roomName } = this.#parts;
    const { source, tracks } = planned;
    const id = crypto.randomUUID();
    if (uploads.pending.peek().runs >= RUNS_MAX) {
      this.#failure.value = "queue_full";
      return [];
    }
    try {
      const recorder = this.#parts.startRecorder(source, tracks, {
        part: (data, durationMs) => uploads.part(id, data, durationMs),
        end: () => uploads.end(id),
        failed: () => this.#endedByItself(id),
      });
      recorder.setMuted(isMuted);
      this.#own.add(id);
      uploads.open({ run: id, roomName, stay, token: token(), source, startedMs: Date.now() });
      const observation = this.#parts.observe(
        { tracks, isMuted, startedMs: performance.now() },
        { thumbnail: (jpeg) => uploads.thumbnail(id, jpeg), speech: (spoken) => uploads.speech(id, spoken) },
      );
      return [{ id, planned, recorder, observation }];
    } catch (error) {
      this.#failure.value = error instanceof CannotRecord ? "unsupported" : "broken";
      return [];
    }
  }

  #endedByItself(id: string): void {
    const ended = this.#live.find((live) => live.id === id);
    if (!ended) return;
    ended.observation.stop();
    this.#setLive(this.#live.filter((live) => live.id !== id));
    if (this.#restarts++ < RESTARTS_MAX) setTimeout(() => this.#revision.value++, 500);
    else this.#failure.value = "broken";
  }

  #failed(run: string, why: Failure): void {
    if (!this.#own.has(run)) return;
    this.#failure.value = why;
    // The service, or this device, has no place for more: the other runs would fail too.
    if (this.#live.some(({ id }) => id === run)) this.stop();
  }

  #setLive(live: LiveRun[]): void {
    this.#live = live;
    this.#isRunning.value = live.length > 0;
  }
}

/** The observation first: what it has is sent before the end of the run. */
function stopRun({ recorder, observation }: LiveRun): void {
  observation.stop();
  recorder.stop();
}
