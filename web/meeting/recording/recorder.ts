/** One run of the browser's recorder, over copies of the page's tracks: muting and ending them is independent of what the others get. */
import type { Source } from "./contract.ts";

/** About this much is lost when a tab is killed. */
const PART_MS = 2000;
/** Players seek to key frames. By itself Chromium makes one per hundred pictures, which of a still screen may be minutes. */
const KEY_FRAME_EVERY_MS = 5000;
const AUDIO_BITS_PER_SECOND = 64_000;
const VIDEO_BITS_PER_SECOND = { camera: 1_500_000, microphone: 0, screen: 2_000_000 } as const;

/** In this order; VP8 costs the least. */
const VIDEO_TYPES = ["video/webm;codecs=vp8,opus", "video/webm", "video/mp4"] as const;
const AUDIO_TYPES = ["audio/webm;codecs=opus", "audio/webm", "audio/mp4"] as const;

/** TypeScript's types do not know all of the standard. */
interface RecorderOptions extends MediaRecorderOptions {
  readonly videoKeyFrameIntervalDuration?: number;
}

export interface RunSink {
  part(data: Blob, durationMs: number): void;
  /** After the last part. */
  end(): void;
  /** The recorder has ended by itself. */
  failed(): void;
}

export interface RunRecorder {
  setMuted(isMuted: boolean): void;
  stop(): void;
}

/** The browser has no recorder, or none for any type that the service takes. */
export class CannotRecord extends Error {}

/** The type that this browser records in; undefined: it cannot record. */
function typeFor(source: Source): string | undefined {
  if (typeof MediaRecorder === "undefined") return undefined;
  const types: readonly string[] = source === "microphone" ? AUDIO_TYPES : VIDEO_TYPES;
  return types.find((type) => MediaRecorder.isTypeSupported(type));
}

/** Throws if it cannot be started. */
export function startRecorder(source: Source, tracks: readonly MediaStreamTrack[], sink: RunSink): RunRecorder {
  const mimeType = typeFor(source);
  if (mimeType === undefined) throw new CannotRecord();
  const copies = tracks.map((track) => track.clone());
  const options: RecorderOptions = {
    mimeType,
    audioBitsPerSecond: AUDIO_BITS_PER_SECOND,
    ...(source !== "microphone" && {
      videoBitsPerSecond: VIDEO_BITS_PER_SECOND[source],
      videoKeyFrameIntervalDuration: KEY_FRAME_EVERY_MS,
    }),
  };
  const recorder = new MediaRecorder(new MediaStream(copies), options);
  let isStopped = false;
  let sinceMs = performance.now();
  recorder.ondataavailable = ({ data }) => {
    const nowMs = performance.now();
    if (data.size > 0) sink.part(data, nowMs - sinceMs);
    sinceMs = nowMs;
  };
  recorder.onstop = () => {
    for (const copy of copies) copy.stop();
    sink.end();
    if (!isStopped) sink.failed();
  };
  try {
    recorder.start(PART_MS);
  } catch (error) {
    for (const copy of copies) copy.stop();
    throw error;
  }
  return {
    setMuted: (isMuted) => {
      for (const copy of copies) if (copy.kind === "audio") copy.enabled = !isMuted;
    },
    stop: () => {
      isStopped = true;
      if (recorder.state !== "inactive") recorder.stop();
    },
  };
}
