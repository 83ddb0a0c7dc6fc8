/** The way to one other participant: its connection, which may be begun anew several times, and how well it works. */
import { Connection, type Surroundings } from "./connection.ts";
import type { Kind, Quality } from "./contract.ts";
import { type Counts, countsOf, isPoor } from "./quality.ts";
import { Recovery } from "./recovery.ts";
import { cameraEncoding, type Encoding, screenEncoding } from "./resolution.ts";
import { sessionOf } from "./sdp.ts";
import type { Description, Signal } from "./signalling.ts";

export interface ParticipantConnectionHost extends Omit<Surroundings, "changed"> {
  isOnline(): boolean;
  changed(): void;
}

/** A participant that begins anew all the time would use up the connections that a browser allows a page. */
const BEGINS_MAX = 10;
const BEGINS_WITHIN_MS = 20_000;

export class ParticipantConnection {
  readonly #host: ParticipantConnectionHost;
  readonly #recovery = new Recovery();
  #connection: Connection | undefined;
  #counts: Counts | undefined;
  #isPoor = false;
  #hadConnection = false;
  #people = 2;
  /** When connections were begun. */
  #begunMs: number[] = [];

  constructor(host: ParticipantConnectionHost) {
    this.#host = host;
  }

  get quality(): Quality {
    const state = this.#connection?.state;
    if (state === "connected") return this.#isPoor ? "poor" : "good";
    return this.#hadConnection ? "lost" : "connecting";
  }

  get tracks(): readonly (readonly [Kind, MediaStreamTrack])[] {
    return this.#connection?.tracks ?? [];
  }

  /** 0 to 1. */
  get level(): number {
    const [source] = this.#connection?.receiver("audio")?.getSynchronizationSources() ?? [];
    return source?.audioLevel ?? 0;
  }

  /** Looks whether something has to be done about the connection. */
  look(nowMs: number): void {
    if (!this.#host.isOnline()) return;
    const { isLeader } = this.#host;
    const step = this.#recovery.next({ isLeader, state: this.#connection?.state ?? "none" }, nowMs);
    if (step === "begin") this.#begin(nowMs);
    else if (step === "askLeader") this.sayBye();
    else if (step === "restartIce") this.#connection?.restartIce();
  }

  /** This page is back after it was away. */
  wake(nowMs: number): void {
    this.#recovery.wake();
    this.look(nowMs);
  }

  receive(signal: Signal, nowMs: number): void {
    if ("bye" in signal) {
      // Also of one that begins anew: the leader then makes another connection, unless it has left meanwhile.
      this.#end();
      this.#recovery.restarted(nowMs);
      this.#host.changed();
    } else if ("description" in signal) this.#described(signal.description, nowMs);
    else this.#connection?.candidate(signal.candidate);
  }

  /** For the next time that a way is looked for, also when the other one asks for that. */
  setIceServers(iceServers: readonly RTCIceServer[]): void {
    this.#connection?.setIceServers(iceServers);
  }

  async update(): Promise<void> {
    await this.#connection?.update();
    this.#host.changed();
  }

  /** Sends as much as is good for that many participants, with oneself. */
  async tune(people: number): Promise<void> {
    this.#people = people;
    await this.#tune();
  }

  async measure(): Promise<void> {
    const report = await this.#connection?.stats().catch(() => undefined);
    if (!report) return;
    const counts = countsOf(report);
    const wasPoor = this.#isPoor;
    this.#isPoor = isPoor(counts, this.#counts);
    this.#counts = counts;
    if (wasPoor !== this.#isPoor) this.#host.changed();
  }

  sayBye(): void {
    this.#host.send({ bye: true }).catch(() => undefined);
  }

  close(): void {
    this.#end();
  }

  #described(description: Description, nowMs: number): void {
    const { isLeader } = this.#host;
    const isNew = this.#connection?.remoteSession !== sessionOf(description.sdp);
    // The leader's page has begun anew, or has made another connection: the one to its earlier one is dead.
    if (description.type === "offer" && !isLeader && isNew) {
      if (!this.#begin(nowMs)) return;
      this.#recovery.restarted(nowMs);
    }
    this.#connection?.describe(description);
  }

  #begin(nowMs: number): boolean {
    this.#begunMs = this.#begunMs.filter((beganMs) => nowMs - beganMs < BEGINS_WITHIN_MS);
    if (this.#begunMs.length >= BEGINS_MAX) return false;
    this.#begunMs.push(nowMs);
    this.#end();
    this.#connection = new Connection({ ...this.#around(), changed: () => this.#changed() });
    return true;
  }

  #around(): Omit<Surroundings, "changed"> {
    const host = this.#host;
    return {
      isLeader: host.isLeader,
      iceServers: host.iceServers,
      send: (signal) => host.send(signal),
      outgoing: (kind) => host.outgoing(kind),
      isAllowed: (kind) => host.isAllowed(kind),
    };
  }

  #end(): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.#counts = undefined;
    this.#isPoor = false;
  }

  #changed(): void {
    if (this.#connection?.state === "connected") {
      this.#hadConnection = true;
      void this.#tune();
    }
    this.#host.changed();
  }

  async #tune(): Promise<void> {
    const camera = this.#connection?.sender("video");
    const screen = this.#connection?.sender("screen");
    const height = camera?.track?.getSettings().height ?? 0;
    await Promise.all([
      encode(camera, cameraEncoding(this.#people, height)),
      encode(screen, screenEncoding(this.#people)),
    ]);
  }
}

/** It can be set from the first negotiation on; before, there is nothing to set it on. */
async function encode(sender: RTCRtpSender | undefined, encoding: Encoding): Promise<void> {
  if (!sender?.track) return;
  const parameters = sender.getParameters();
  const [first] = parameters.encodings ?? [];
  if (!first) return;
  const { maxBitrate, scaleResolutionDownBy } = encoding;
  if (first.maxBitrate === maxBitrate && first.scaleResolutionDownBy === scaleResolutionDownBy) return;
  Object.assign(first, encoding);
  // It fails when it is changed twice at the same moment, or while the track is replaced: then the next change sets it.
  await sender.setParameters(parameters).catch(() => undefined);
}
