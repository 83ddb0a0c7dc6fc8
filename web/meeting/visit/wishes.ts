/** Whether the person wants to be heard and seen. Known only after a click: otherwise the room decides. */
import type { Kind } from "../call/contract.ts";
import type { OwnMedia } from "../session/own-media.ts";

export class Wishes {
  readonly #media: OwnMedia;
  #wanted: Partial<Record<Kind, boolean>> = {};

  constructor(media: OwnMedia) {
    this.#media = media;
  }

  get all(): Readonly<Partial<Record<Kind, boolean>>> {
    return this.#wanted;
  }

  /** As before a reload, or in the stay before. */
  restore({ audio, video }: Readonly<Record<"audio" | "video", boolean>>): void {
    this.#wanted = { audio, video };
  }

  forget(): void {
    this.#wanted = {};
  }

  /** Nothing is sent that no one has clicked on. */
  onlyIfClicked(): void {
    this.#wanted.audio ??= false;
    this.#wanted.video ??= false;
  }

  /** `mayTurnOn`: the room allows it, or it is not entered yet. */
  async toggle(kind: Kind, mayTurnOn: boolean): Promise<void> {
    const isOn = this.#media.isOn.value[kind];
    this.#wanted[kind] = !isOn;
    if (isOn) this.#media.turnOff(kind);
    else if (mayTurnOn) await this.#media.turnOn(kind);
  }

  /** Before the door. */
  preview(isAudioOnly: boolean): void {
    this.#media.watch();
    if (this.#wanted.audio !== false) void this.#media.turnOn("audio");
    if (this.#wanted.video !== false && !isAudioOnly) void this.#media.turnOn("video");
  }
}
