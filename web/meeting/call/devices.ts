/** Cameras, microphones and screens of this machine. Everything that fails here has a reason that the page can explain. */
import type { Kind } from "./contract.ts";

/**
 * - `denied`: the person or the browser does not allow it, or the choice of a screen was cancelled.
 * - `system`: the operating system does not let the browser use it.
 * - `framed`: the website that shows this page in a frame does not let it.
 * - `none`: there is no such device.
 * - `busy`: another program uses it.
 * - `insecure`: the page was not loaded over https.
 * - `unsupported`: the browser cannot do it.
 * - `failed`: it did not start, and the browser does not say why.
 */
export type DeviceReason = "denied" | "system" | "framed" | "none" | "busy" | "insecure" | "unsupported" | "failed";

export class DeviceError extends Error {
  override readonly name = "DeviceError";

  constructor(
    readonly reason: DeviceReason,
    options?: { readonly cause?: unknown },
  ) {
    super(`The device cannot be used: ${reason}.`, options);
  }
}

export interface Device {
  readonly deviceId: string;
  readonly kind: "audio" | "video" | "output";
  /** Empty before a permission was given. */
  readonly label: string;
}

const REASONS: Readonly<Record<string, DeviceReason>> = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  NotFoundError: "none",
  NotReadableError: "busy",
  NotSupportedError: "unsupported",
  TypeError: "unsupported",
};

const KINDS: Readonly<Record<MediaDeviceKind, Device["kind"]>> = {
  audioinput: "audio",
  videoinput: "video",
  audiooutput: "output",
};

const FEATURES: Readonly<Record<Kind, string>> = { audio: "microphone", video: "camera", screen: "display-capture" };

/** Only Chromium says what the page around this one allows; elsewhere it is a refusal like others. */
function isFramedOut(kind: Kind): boolean {
  const { featurePolicy } = document as { readonly featurePolicy?: { allowsFeature(feature: string): boolean } };
  return featurePolicy?.allowsFeature(FEATURES[kind]) === false;
}

/** An error of the browser is read here and nowhere else: everything beyond has a DeviceError. */
function reasonOf(error: unknown, kind: Kind): DeviceReason {
  const reason = (error instanceof Error && REASONS[error.name]) || "failed";
  if (reason !== "denied") return reason;
  if (isFramedOut(kind)) return "framed";
  // Chromium: "Permission denied by system".
  return error instanceof Error && /by system/i.test(error.message) ? "system" : "denied";
}

/** Browsers offer devices only to pages of https and of this machine. */
function mediaDevices(): MediaDevices {
  const { mediaDevices: devices } = navigator as { readonly mediaDevices?: MediaDevices };
  if (!devices) throw new DeviceError(isSecureContext ? "unsupported" : "insecure");
  return devices;
}

export async function listDevices(): Promise<readonly Device[]> {
  const { mediaDevices: devices } = navigator as { readonly mediaDevices?: MediaDevices };
  const found = (await devices?.enumerateDevices().catch(() => [])) ?? [];
  // Before a permission was given, browsers list devices without an id, which cannot be chosen.
  return found
    .filter(({ deviceId }) => deviceId !== "")
    .map(({ deviceId, kind, label }) => ({ deviceId, kind: KINDS[kind], label }));
}

/** Devices were plugged in or out. */
export function onDevicesChanged(listener: () => void): () => void {
  const { mediaDevices: devices } = navigator as { readonly mediaDevices?: MediaDevices };
  devices?.addEventListener("devicechange", listener);
  return () => devices?.removeEventListener("devicechange", listener);
}

const AUDIO: MediaTrackConstraints = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
/** The mesh asks the track for less when there are more participants. */
const VIDEO: MediaTrackConstraints = {
  width: { ideal: 1280 },
  height: { ideal: 720 },
  frameRate: { ideal: 30, max: 30 },
};

/** The device that was chosen earlier, or another one if it is gone. */
const chosen = (deviceId: string | undefined): MediaTrackConstraints =>
  deviceId === undefined ? {} : { deviceId: { ideal: deviceId } };

async function firstTrack(kind: Kind, open: () => Promise<MediaStream>): Promise<MediaStreamTrack> {
  try {
    const [track] = (await open()).getTracks();
    if (!track) throw new DeviceError("none");
    return track;
  } catch (cause) {
    if (cause instanceof DeviceError) throw cause;
    throw new DeviceError(reasonOf(cause, kind), { cause });
  }
}

/** A device that cannot do what is wished for is used as it is. */
async function openMedia(
  kind: "audio" | "video",
  wished: MediaTrackConstraints,
  deviceId?: string,
): Promise<MediaStream> {
  const devices = mediaDevices();
  try {
    return await devices.getUserMedia({ [kind]: { ...wished, ...chosen(deviceId) } });
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "OverconstrainedError") throw error;
    return devices.getUserMedia({ [kind]: true });
  }
}

export const openMicrophone = (deviceId?: string): Promise<MediaStreamTrack> =>
  firstTrack("audio", () => openMedia("audio", AUDIO, deviceId));

export const openCamera = (deviceId?: string): Promise<MediaStreamTrack> =>
  firstTrack("video", () => openMedia("video", VIDEO, deviceId));

export const canShareScreen = (): boolean =>
  typeof (navigator as { readonly mediaDevices?: Partial<MediaDevices> }).mediaDevices?.getDisplayMedia === "function";

/** The track ends when the person stops it in the browser's own bar. */
export async function shareScreen(): Promise<MediaStreamTrack> {
  if (!canShareScreen()) throw new DeviceError("unsupported");
  const track = await firstTrack("screen", () =>
    mediaDevices().getDisplayMedia({ video: { frameRate: { ideal: 15, max: 15 } }, audio: false }),
  );
  // Text stays sharp; the number of pictures per second may drop.
  track.contentHint = "detail";
  return track;
}
