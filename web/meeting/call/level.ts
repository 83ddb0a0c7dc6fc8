/** How loud a track is, for the meter beside a microphone. */
const EVERY_MS = 60;
/** Speech is rarely louder than this, so the meter uses its whole width. */
const FULL_SCALE = 0.3;

/** Calls back with 0 to 1, until the function that it returns is called. */
export function meterOf(track: MediaStreamTrack, onLevel: (level: number) => void): () => void {
  const context = new AudioContext();
  const source = context.createMediaStreamSource(new MediaStream([track]));
  const analyser = context.createAnalyser();
  analyser.fftSize = 512;
  source.connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const timer = setInterval(() => {
    // A context that was made before the first click of the page is suspended.
    if (context.state === "suspended") context.resume().catch(() => undefined);
    analyser.getFloatTimeDomainData(samples);
    onLevel(Math.min(1, loudness(samples) / FULL_SCALE));
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    source.disconnect();
    context.close().catch(() => undefined);
  };
}

/** The root mean square. */
function loudness(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return samples.length === 0 ? 0 : Math.sqrt(sum / samples.length);
}
