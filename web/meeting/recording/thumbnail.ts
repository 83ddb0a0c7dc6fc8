/** One small picture of a track, as a JPEG that the service takes. */

const WIDTH = 320;
/** The service takes sides of 16 to 640 pixels: the picture of a very tall or wide screen is cut. */
const HEIGHT_MAX = 400;
const HEIGHT_MIN = 90;
/** The service takes 20 KB. */
const BYTES_MAX = 20 * 1024;
/** In this order, until one fits. */
const QUALITIES = [0.75, 0.6, 0.45, 0.3, 0.15, 0.05];
/** The mean of all colours, of 255: a lid over the camera. */
const DARK = 12;
const FRAME_WITHIN_MS = 5000;

export interface Thumbnail {
  readonly jpeg: Blob;
  readonly isDark: boolean;
}

/** undefined: there was no picture, or none that is small enough. */
export async function takeThumbnail(track: MediaStreamTrack): Promise<Thumbnail | undefined> {
  const copy = track.clone();
  const video = document.createElement("video");
  try {
    video.muted = true;
    video.playsInline = true;
    video.srcObject = new MediaStream([copy]);
    await firstFrame(video);
    const canvas = drawn(video);
    if (!canvas) return undefined;
    const jpeg = await smallest(canvas);
    return jpeg && { jpeg, isDark: isDark(canvas) };
  } finally {
    copy.stop();
    video.srcObject = null;
  }
}

async function firstFrame(video: HTMLVideoElement): Promise<void> {
  const loaded = new Promise<void>((resolve, reject) => {
    video.onloadeddata = () => resolve();
    setTimeout(() => reject(new Error("no picture came")), FRAME_WITHIN_MS);
  });
  await Promise.all([video.play(), loaded]);
}

function drawn(video: HTMLVideoElement): HTMLCanvasElement | undefined {
  const { videoWidth, videoHeight } = video;
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  if (videoWidth === 0 || videoHeight === 0 || !context) return undefined;
  const whole = Math.round((WIDTH * videoHeight) / videoWidth);
  canvas.width = WIDTH;
  canvas.height = Math.max(HEIGHT_MIN, Math.min(HEIGHT_MAX, whole));
  context.drawImage(video, 0, Math.round((canvas.height - whole) / 2), WIDTH, whole);
  return canvas;
}

async function smallest(canvas: HTMLCanvasElement): Promise<Blob | undefined> {
  for (const quality of QUALITIES) {
    const jpeg = await new Promise<Blob | null>((made) => canvas.toBlob(made, "image/jpeg", quality));
    if (jpeg && jpeg.type === "image/jpeg" && jpeg.size <= BYTES_MAX) return jpeg;
  }
  return undefined;
}

function isDark(canvas: HTMLCanvasElement): boolean {
  const context = canvas.getContext("2d");
  const data = context?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
  let [sum, count] = [0, 0];
  // Every eighth pixel.
  for (let at = 0; at + 2 < data.length; at += 32) {
    sum += (data[at] ?? 0) + (data[at + 1] ?? 0) + (data[at + 2] ?? 0);
    count += 3;
  }
  return count === 0 || sum / count < DARK;
}
