/** One's own microphone, camera and screen: which are on, which devices, and why one cannot be used. */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Kind } from "../call/contract.ts";
import { type Device, DeviceError, type DeviceReason } from "../call/devices.ts";
import { keep, kept } from "../page/storage.ts";

/** call/devices.ts; tests have their own. What cannot be opened rejects with a DeviceError, which has the reason. */
export interface DeviceAccess {
  openMicrophone(deviceId?: string): Promise<MediaStreamTrack>;
  openCamera(deviceId?: string): Promise<MediaStreamTrack>;
  shareScreen(): Promise<MediaStreamTrack>;
  canShareScreen(): boolean;
  listDevices(): Promise<readonly Device[]>;
  onDevicesChanged(listener: () => void): () => void;
}

export type OwnTracks = Readonly<Partial<Record<Kind, MediaStreamTrack>>>;

export interface DeviceProblem {
  readonly kind: Kind;
  readonly reason: DeviceReason;
}

export class OwnMedia {
  readonly #access: DeviceAccess;
  readonly #tracks: Signal<OwnTracks> = signal({});
  readonly #isMuted = signal(false);
  readonly #problems: Signal<readonly DeviceProblem[]> = signal([]);
  readonly #devices: Signal<readonly Device[]> = signal([]);
  readonly #starting: Signal<readonly Kind[]> = signal([]);
  readonly #chosen: Readonly<Record<Device["kind"], Signal<string>>> = {
    audio: signal(kept("local", "device-audio") ?? ""),
    video: signal(kept("local", "device-video") ?? ""),
    output: signal(kept("local", "device-output") ?? ""),
  };
  /** What was asked for last: a device that opens later than it was turned off is closed at once. */
  readonly #wanted: Record<Kind, boolean> = { audio: false, video: false, screen: false };
  #endWatch: (() => void) | undefined;

  constructor(access: DeviceAccess) {
    this.#access = access;
  }

  get tracks(): ReadonlySignal<OwnTracks> {
    return this.#tracks;
  }

  get problems(): ReadonlySignal<readonly DeviceProblem[]> {
    return this.#problems;
  }

  get devices(): ReadonlySignal<readonly Device[]> {
    return this.#devices;
  }

  get starting(): ReadonlySignal<readonly Kind[]> {
    return this.#starting;
  }

  readonly isMuted: ReadonlySignal<boolean> = this.#isMuted;

  /** Which kinds the others get. */
  readonly isOn: ReadonlySignal<Readonly<Record<Kind, boolean>>> = computed(() => {
    const { audio, video, screen } = this.#tracks.value;
    return {
      audio: audio !== undefined && !this.#isMuted.value,
      video: video !== undefined,
      screen: screen !== undefined,
    };
  });

  /** The id of the chosen device; empty: the system's. */
  chosen(kind: Device["kind"]): string {
    return this.#chosen[kind].value;
  }

  get canShareScreen(): boolean {
    return this.#access.canShareScreen();
  }

  /** Lists devices, also when they are plugged in or out. */
  watch(): void {
    const list = async (): Promise<void> => {
      this.#devices.value = await this.#access.listDevices();
    };
    this.#endWatch ??= this.#access.onDevicesChanged(() => void list());
    void list();
  }

  /** Resolves to whether it is on. What cannot be opened is in `problems`. */
  async turnOn(kind: Kind): Promise<boolean> {
    this.#wanted[kind] = true;
    if (kind === "audio" && this.#tracks.value.audio) {
      this.#isMuted.value = false;
      return true;
    }
    if (this.#tracks.value[kind] || this.#starting.value.includes(kind)) return true;
    this.#starting.value = [...this.#starting.value, kind];
    try {
      const track = await this.#open(kind);
      if (!this.#wanted[kind]) {
        track.stop();
        return false;
      }
      this.#set(kind, track);
      if (kind === "audio") this.#isMuted.value = false;
      return true;
    } catch (error) {
      this.#wanted[kind] = false;
      this.#complain(kind, error);
      return false;
    } finally {
      this.#starting.value = this.#starting.value.filter((one) => one !== kind);
      this.watch();
    }
  }

  /** A microphone is muted and stays open, so that it is on at once; a camera goes dark, and its light too. */
  turnOff(kind: Kind): void {
    this.#wanted[kind] = false;
    if (kind === "audio") this.#isMuted.value = true;
    else this.close(kind);
  }

  close(kind: Kind): void {
    this.#wanted[kind] = false;
    this.#tracks.value[kind]?.stop();
    this.#set(kind, undefined);
  }

  closeAll(): void {
    for (const kind of ["audio", "video", "screen"] as const) this.close(kind);
    this.#endWatch?.();
    this.#endWatch = undefined;
  }

  /** Another device; one that is in use is replaced. */
  async choose(kind: Device["kind"], deviceId: string): Promise<void> {
    this.#chosen[kind].value = deviceId;
    keep("local", `device-${kind}`, deviceId || undefined);
    if (kind === "output" || !this.#tracks.value[kind]) return;
    try {
      const track = await this.#open(kind);
      this.#tracks.value[kind]?.stop();
      if (this.#tracks.value[kind] && (kind === "audio" || this.#wanted[kind])) this.#set(kind, track);
      else track.stop();
    } catch (error) {
      this.#complain(kind, error);
    }
  }

  #open(kind: Kind): Promise<MediaStreamTrack> {
    const id = kind === "screen" ? undefined : this.#chosen[kind].value || undefined;
    if (kind === "screen") return this.#access.shareScreen();
    return kind === "audio" ? this.#access.openMicrophone(id) : this.#access.openCamera(id);
  }

  #set(kind: Kind, track: MediaStreamTrack | undefined): void {
    const { [kind]: _, ...others } = this.#tracks.value;
    this.#tracks.value = track ? { ...others, [kind]: track } : others;
    if (!track) return;
    this.#problems.value = this.#problems.value.filter((one) => one.kind !== kind);
    // Unplugged, or stopped in the browser's own bar.
    track.addEventListener("ended", () => {
      if (this.#tracks.value[kind] === track) this.close(kind);
    });
  }

  #complain(kind: Kind, error: unknown): void {
    const reason = error instanceof DeviceError ? error.reason : "failed";
    const others = this.#problems.value.filter((one) => one.kind !== kind);
    // To cancel the choice of a screen is no problem.
    this.#problems.value = kind === "screen" && reason === "denied" ? others : [...others, { kind, reason }];
  }
}
