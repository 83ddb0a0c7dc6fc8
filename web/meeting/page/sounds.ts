/** Two soft tones: when a person asks to enter, at most once in ten seconds however many ask; and to test a speaker. */

const EVERY_MS = 10_000;
const TONES_HZ = [659, 880];
const TONE_SECONDS = 0.16;

let lastMs = Number.NEGATIVE_INFINITY;

/** Returns whether it is time for a sound. */
export function isTimeForSound(nowMs: number): boolean {
  if (nowMs - lastMs < EVERY_MS) return false;
  lastMs = nowMs;
  return true;
}

export function lobbyChime(): void {
  if (typeof AudioContext === "undefined" || !isTimeForSound(performance.now())) return;
  const context = new AudioContext();
  playTones(context, context.destination);
}

type Playable = HTMLAudioElement & { setSinkId?: (deviceId: string) => Promise<void> };

/** On this speaker, to find out whether it can be heard; empty: the system's. */
export function playTestTone(output: string): void {
  const context = new AudioContext();
  const stream = context.createMediaStreamDestination();
  const player: Playable = new Audio();
  player.srcObject = stream.stream;
  // One that is gone: the system's is used.
  const chosen = player.setSinkId?.(output).catch(() => undefined) ?? Promise.resolve();
  chosen
    .then(() => player.play())
    .then(() => playTones(context, stream, 0.25))
    .catch(() => context.close());
}

function playTones(context: AudioContext, to: AudioNode, gain = 0.08): void {
  TONES_HZ.forEach((hz, at) => {
    const begins = context.currentTime + at * TONE_SECONDS;
    const tone = new OscillatorNode(context, { frequency: hz });
    const volume = new GainNode(context, { gain: 0 });
    volume.gain.setTargetAtTime(gain, begins, 0.01);
    volume.gain.setTargetAtTime(0, begins + TONE_SECONDS * 0.6, 0.04);
    tone.connect(volume).connect(to);
    tone.start(begins);
    tone.stop(begins + TONE_SECONDS * 2);
    if (at === TONES_HZ.length - 1) tone.onended = () => void context.close().catch(() => undefined);
  });
}
