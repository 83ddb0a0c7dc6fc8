/**
 * Looks at a run while it is recorded, for what goes beside its file: one small picture, and when its person speaks. A script of its own, which only a page
 * that records loads. It fails silently: a recording without them is a recording.
 */
import type { ObservedRun, RunObservation, RunObserver } from "./contract.ts";
import { SpeechLog, WINDOW_MS } from "./speech-log.ts";
import { takeThumbnail } from "./thumbnail.ts";

const READ_EVERY_MS = 500;
/** What is lost if the page is killed. */
const SEND_EVERY_MS = 60_000;
/** Cameras are black at first, and people sit down. */
const FIRST_PICTURE_MS = 3000;
const NEXT_PICTURE_MS = 5000;
const PICTURES_MAX = 6;
/** Enough for a page in the background, whose timers are called once per second. */
const SAMPLES = 32_768;
const SAMPLE_RATE = 16_000;

export const observe: RunObserver = (run, sink) => {
  const sound = run.tracks.find(({ kind }) => kind === "audio");
  const picture = run.tracks.find(({ kind }) => kind === "video");
  const ends: (() => void)[] = [];
  if (picture) ends.push(picturesOf(picture, (jpeg) => sink.thumbnail(jpeg)));
  const hearing = sound && hearingOf(sound, run, (intervals) => sink.speech(intervals));
  return {
    setMuted: (isMuted) => hearing?.setMuted(isMuted),
    stop: () => {
      for (const end of ends) end();
      hearing?.stop();
    },
  };
};

/** One picture that is not black; the last one that was tried is better than none. */
function picturesOf(track: MediaStreamTrack, taken: (jpeg: Blob) => void): () => void {
  let tries = 0;
  let isOver = false;
  const take = async (): Promise<void> => {
    const picture = await takeThumbnail(track).catch(() => undefined);
    if (isOver) return;
    if (picture) taken(picture.jpeg);
    if (picture?.isDark !== false && ++tries < PICTURES_MAX) timer = setTimeout(() => void take(), NEXT_PICTURE_MS);
  };
  let timer = setTimeout(() => void take(), FIRST_PICTURE_MS);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

function hearingOf(
  track: MediaStreamTrack,
  { startedMs, isMuted }: ObservedRun,
  spoken: (intervals: SpeechLog["intervals"]) => void,
): RunObservation | undefined {
  const ear = openEar(track);
  if (!ear) return undefined;
  const log = new SpeechLog();
  // What was before this script had loaded.
  log.skip(Math.max(0, Math.floor((performance.now() - startedMs) / WINDOW_MS)));
  ear.setMuted(isMuted);
  const read = (): void => {
    const due = Math.floor((performance.now() - startedMs) / WINDOW_MS) - log.windows;
    const levels = ear.levels(due);
    log.skip(due - levels.length);
    for (const level of levels) log.add(level);
  };
  const timers = [setInterval(read, READ_EVERY_MS), setInterval(() => spoken(log.intervals), SEND_EVERY_MS)];
  return {
    setMuted: (isMutedNow) => {
      read();
      ear.setMuted(isMutedNow);
    },
    stop: () => {
      for (const timer of timers) clearInterval(timer);
      read();
      ear.close();
      spoken(log.intervals);
    },
  };
}

interface Ear extends Pick<RunObservation, "setMuted"> {
  /** The root mean squares of the last `count` tenths of a second, or of as many of them as are known. */
  levels(count: number): number[];
  close(): void;
}

/** undefined: this browser cannot listen. */
function openEar(track: MediaStreamTrack): Ear | undefined {
  const copy = track.clone();
  try {
    const { context, source } = contextOf(new MediaStream([copy]));
    const analyser = context.createAnalyser();
    analyser.fftSize = SAMPLES;
    source.connect(analyser);
    const samples = new Float32Array(SAMPLES);
    const perWindow = Math.round((context.sampleRate * WINDOW_MS) / 1000);
    return {
      setMuted: (isMuted) => {
        copy.enabled = !isMuted;
      },
      levels: (count) => {
        if (context.state === "suspended") {
          context.resume().catch(() => undefined);
          return [];
        }
        analyser.getFloatTimeDomainData(samples);
        const known = Math.max(0, Math.min(count, Math.floor(SAMPLES / perWindow)));
        return Array.from({ length: known }, (_, n) => loudness(samples, SAMPLES - (known - n) * perWindow, perWindow));
      },
      close: () => {
        copy.stop();
        source.disconnect();
        context.close().catch(() => undefined);
      },
    };
  } catch {
    copy.stop();
    return undefined;
  }
}

/** At a low rate the samples are those of two seconds. Firefox wants the rate of the device. */
function contextOf(stream: MediaStream): { context: AudioContext; source: MediaStreamAudioSourceNode } {
  const slow = new AudioContext({ sampleRate: SAMPLE_RATE });
  try {
    return { context: slow, source: slow.createMediaStreamSource(stream) };
  } catch {
    slow.close().catch(() => undefined);
    const context = new AudioContext();
    return { context, source: context.createMediaStreamSource(stream) };
  }
}

/** The root mean square. */
function loudness(samples: Float32Array, from: number, count: number): number {
  let sum = 0;
  for (let at = from; at < from + count; at++) sum += (samples[at] ?? 0) ** 2;
  return Math.sqrt(sum / count);
}
