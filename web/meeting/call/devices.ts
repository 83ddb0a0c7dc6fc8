/** Cameras, microphones and screens of this machine. Everything that fails here has a reason that the page can explain. */

/**
 * - `denied`: the person, the browser or the system does not allow it, or the choice of a screen was cancelled.
 * - `none`: there is no such device.
 * - `busy`: another program uses it.
 * - `unsupported`: the browser cannot do it, or the page was not loaded over https.
 */
export type DeviceReason = "denied" | "none" | "busy" | "unsupported" | "failed";

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
  OverconstrainedError: "none",
  NotReadableError: "busy",
  AbortError: "busy",
  NotSupportedError: "unsupported",
  TypeError: "unsupported",
};

const KINDS: Readonly<Record<MediaDeviceKind, Device["kind"]>> = {
  audioinput: "audio",
  videoinput: "video",
  audiooutput: "output",
};

export const reasonOf = (error: unknown): DeviceReason => (error instanceof Error && REASONS[error.name]) || "failed";

/** Browsers offer devices only to pages of https and of this machine. */
function mediaDevices(): MediaDevices {
  const { mediaDevices: devices } = navigator as { readonly mediaDevices?: MediaDevices };
  if (!devices) throw new DeviceError("unsupported");
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

async function firstTrack(open: () => Promise<MediaStream>): Promise<MediaStreamTrack> {
  try {
    const [track] = (await open()).getTracks();
    if (!track) throw new DeviceError("none");
    return track;
  } catch (cause) {
    if (cause instanceof DeviceError) throw cause;
    throw new DeviceError(reasonOf(cause), { cause });
  }
}

export const openMicrophone = (deviceId?: string): Promise<MediaStreamTrack> =>
  firstTrack(() => mediaDevices().getUserMedia({ audio: { ...AUDIO, ...chosen(deviceId) } }));

export const openCamera = (deviceId?: string): Promise<MediaStreamTrack> =>
  firstTrack(() => mediaDevices().getUserMedia({ video: { ...VIDEO, ...chosen(deviceId) } }));

export const canShareScreen = (): boolean =>
  typeof (navigator as { readonly mediaDevices?: Partial<MediaDevices> }).mediaDevices?.getDisplayMedia === "function";

/** The track ends when the person stops it in the browser's own bar. */
export async function shareScreen(): Promise<MediaStreamTrack> {
  if (!canShareScreen()) throw new DeviceError("unsupported");
  const track = await firstTrack(() =>
    mediaDevices().getDisplayMedia({ video: { frameRate: { ideal: 15, max: 15 } }, audio: false }),
  );
  // Text stays sharp; the number of pictures per second may drop.
  track.contentHint = "detail";
  return track;
}
