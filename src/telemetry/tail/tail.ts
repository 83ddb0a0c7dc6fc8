/**
 * The live tail of one node: events are offered to its readers, which get them in batches. With no reader it is off, and events are
 * not even offered.
 */
import type { AppId } from "../../base/ids.ts";
import { type KindSet, lineOf } from "./event.ts";
import { BATCH_EVERY_MS } from "./limits.ts";
import type { TailReader } from "./reader.ts";

interface TailParts {
  readonly after: (ms: number, callback: () => void) => void;
  /** Whether the application allows operators to see its payloads. */
  readonly mayShowPayloads: (app: AppId) => boolean;
}

export class Tail {
  /** Bound: READERS_MAX of this node, and REMOTE_READERS_MAX of the others. */
  private readonly readers: TailReader[] = [];
  /** The first `selectedCount` get the current event. Bound: the number of readers. */
  private selected: TailReader[] = [];
  private selectedCount = 0;
  private isTicking = false;
  private switched: (isOn: boolean) => void = () => undefined;

  constructor(private readonly parts: TailParts) {}

  /** Called with true before the first reader is added, and with false after the last one was removed. */
  onSwitch(switched: (isOn: boolean) => void): void {
    this.switched = switched;
  }

  get size(): number {
    return this.readers.length;
  }

  add(reader: TailReader): void {
    if (this.readers.length === 0) this.switched(true);
    this.readers.push(reader);
    this.tick();
  }

  remove(reader: TailReader): void {
    const at = this.readers.indexOf(reader);
    if (at < 0) return;
    this.readers.splice(at, 1);
    this.selected = [];
    this.selectedCount = 0;
    if (this.readers.length === 0) this.switched(false);
  }

  /** Whether any reader gets this event. Then the caller builds it and calls `write`, in the same turn. */
  select(
    kind: KindSet,
    app: AppId | undefined,
    channel: string | undefined,
    peerId: string | undefined,
    to: string | undefined,
    keyId: string | undefined,
  ): boolean {
    const { readers, selected } = this;
    let count = 0;
    // Called per frame: no array is emptied or filled unless a reader takes the event.
    for (const reader of readers)
      if (reader.takes(kind, app, channel, peerId, to, keyId)) {
        selected[count] = reader;
        count++;
      }
    this.selectedCount = count;
    return count > 0;
  }

  /** Gives an event to the readers that were selected for it. It is built once for all of them, or twice if some see payloads. */
  write(eventJson: string, app: AppId | undefined, dataJson?: string): void {
    let withData: string | undefined;
    for (let at = 0; at < this.selectedCount; at++) {
      const reader = this.selected[at];
      if (!reader) continue;
      if (dataJson === undefined || app === undefined || !reader.filter.showsData) reader.add(eventJson);
      else {
        withData ??= lineOf(eventJson, this.parts.mayShowPayloads(app) ? dataJson : undefined);
        reader.add(withData);
      }
    }
    this.selectedCount = 0;
  }

  private tick(): void {
    if (this.isTicking || this.readers.length === 0) return;
    this.isTicking = true;
    this.parts.after(BATCH_EVERY_MS, () => {
      this.isTicking = false;
      try {
        // A copy: a sink that fails may remove its reader.
        for (const reader of [...this.readers]) reader.flush();
      } finally {
        this.tick();
      }
    });
  }
}
