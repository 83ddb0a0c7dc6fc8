/** The media of a meeting without a server: every page has a connection to every other one, and sends its own tracks to each. */
import type { Kind, MediaEngine, MediaEvents, Quality, RemoteTrack } from "./contract.ts";
import { Listeners } from "./listeners.ts";
import { ParticipantConnection } from "./participant-connection.ts";
import { heightFor } from "./resolution.ts";
import { readSignal, type Signal, type Signalling } from "./signalling.ts";
import { SpeakerChoice } from "./speaker.ts";

const LOOK_EVERY_MS = 500;
const LEVELS_EVERY_MS = 100;
const MEASURE_EVERY_MS = 2000;
/** Signals of participants that the roster does not have yet. */
const EARLY_SENDERS_MAX = 10;
const EARLY_SIGNALS_MAX = 60;

export const makeMesh = (): MediaEngine => new Mesh();

class Mesh implements MediaEngine {
  readonly #listeners = new Listeners<MediaEvents>();
  readonly #connections = new Map<string, ParticipantConnection>();
  readonly #early = new Map<string, Signal[]>();
  readonly #outgoing = new Map<Kind, MediaStreamTrack>();
  /** The height of the camera's picture when it was published. */
  #cameraHeight = 0;
  readonly #muted = new Set<Kind>();
  #isAllowed: (participantSession: string, kind: Kind) => boolean = () => true;
  #signalling: Signalling | undefined;
  #iceServers: readonly RTCIceServer[] = [];
  #ends: (() => void)[] = [];
  /** As last shown. */
  #tracks: readonly RemoteTrack[] = [];
  readonly #qualities = new Map<string, Quality>();
  #speaker: string | undefined;
  readonly #choice = new SpeakerChoice();

  join(signalling: Signalling, iceServers: readonly RTCIceServer[]): void {
    this.leave();
    this.#signalling = signalling;
    this.#iceServers = iceServers;
    this.#ends = [
      signalling.onOthers(() => this.#othersChanged()),
      signalling.onSignal((from, data) => this.#received(from, data)),
      every(LOOK_EVERY_MS, () => this.#look()),
      every(LEVELS_EVERY_MS, () => this.#listen()),
      every(MEASURE_EVERY_MS, () => this.#measure()),
    ];
    this.#othersChanged();
  }

  setIceServers(iceServers: readonly RTCIceServer[]): void {
    this.#iceServers = iceServers;
    for (const connection of this.#connections.values()) connection.setIceServers(iceServers);
  }

  async publish(kind: Kind, track: MediaStreamTrack | null): Promise<void> {
    if (track) {
      track.enabled = !this.#muted.has(kind);
      this.#outgoing.set(kind, track);
      if (kind === "video") this.#cameraHeight = track.getSettings().height ?? 0;
    } else this.#outgoing.delete(kind);
    await this.#update();
    // Not awaited: Chromium never settles setParameters if an offer is taken back meanwhile, and the track is sent already.
    void this.#scale();
  }

  mute(kind: Kind, isMuted: boolean): void {
    if (isMuted) this.#muted.add(kind);
    else this.#muted.delete(kind);
    const track = this.#outgoing.get(kind);
    if (track) track.enabled = !isMuted;
  }

  tracks(): readonly RemoteTrack[] {
    return this.#tracks;
  }

  allow(isAllowed: (participantSession: string, kind: Kind) => boolean): void {
    this.#isAllowed = isAllowed;
    void this.#update();
  }

  level(participantSession: string): number {
    return this.#connections.get(participantSession)?.level ?? 0;
  }

  qualityOf(participantSession: string): Quality {
    return this.#connections.get(participantSession)?.quality ?? "connecting";
  }

  on<E extends keyof MediaEvents>(event: E, listener: (...args: MediaEvents[E]) => void): () => void {
    return this.#listeners.on(event, listener as never);
  }

  leave(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
    for (const connection of this.#connections.values()) {
      connection.sayBye();
      connection.close();
    }
    this.#connections.clear();
    this.#early.clear();
    this.#signalling = undefined;
    this.#show();
  }

  #othersChanged(): void {
    const others = new Set(this.#signalling?.others());
    for (const [who, connection] of this.#connections)
      if (!others.has(who)) {
        connection.close();
        this.#connections.delete(who);
      }
    for (const who of others) if (!this.#connections.has(who)) this.#meet(who);
    const nowMs = performance.now();
    for (const connection of this.#connections.values()) connection.wake(nowMs);
    void this.#scale();
    this.#show();
  }

  #meet(who: string): void {
    const connection = this.#connectionTo(who);
    if (!connection) return;
    this.#connections.set(who, connection);
    // The other one may have a connection to the page that this one continues.
    if (this.#signalling?.isResumed) connection.sayBye();
    const early = this.#early.get(who) ?? [];
    this.#early.delete(who);
    for (const signal of early) connection.receive(signal, performance.now());
  }

  #connectionTo(who: string): ParticipantConnection | undefined {
    const signalling = this.#signalling;
    if (!signalling) return undefined;
    const iceServers = (): readonly RTCIceServer[] => this.#iceServers;
    return new ParticipantConnection({
      isLeader: signalling.self < who,
      get iceServers() {
        return iceServers();
      },
      isOnline: () => signalling.isOnline(),
      send: (signal) => signalling.send(who, signal),
      outgoing: (kind) => this.#outgoing.get(kind) ?? null,
      isAllowed: (kind) => this.#isAllowed(who, kind),
      changed: () => this.#show(),
    });
  }

  #received(from: string, data: Readonly<Record<string, unknown>>): void {
    const signal = readSignal(data);
    if (!signal) return;
    const connection = this.#connections.get(from);
    if (connection) return connection.receive(signal, performance.now());
    // The roster comes a little later than the first signals; signals of one that has left are dropped in the end.
    const early = this.#early.get(from) ?? [];
    const [oldest] = this.#early.keys();
    if (early.length === 0 && this.#early.size >= EARLY_SENDERS_MAX && oldest !== undefined) this.#early.delete(oldest);
    if (early.length < EARLY_SIGNALS_MAX) early.push(signal);
    this.#early.set(from, early);
  }

  #look(): void {
    const nowMs = performance.now();
    for (const connection of this.#connections.values()) connection.look(nowMs);
  }

  #listen(): void {
    const levels = new Map([...this.#connections].map(([who, connection]) => [who, connection.level]));
    const speaker = this.#choice.next(levels, performance.now());
    if (speaker === this.#speaker) return;
    this.#speaker = speaker;
    this.#listeners.emit("speaker", speaker);
  }

  #measure(): void {
    for (const connection of this.#connections.values()) void connection.measure();
  }

  async #update(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.update()));
    this.#show();
  }

  /** The camera first: what is left to scale is done when its picture is encoded. */
  async #scale(): Promise<void> {
    await this.#scaleCamera();
    await Promise.all([...this.#connections.values()].map((connection) => connection.tune(this.#connections.size + 1)));
  }

  /** Less is captured when less is sent; never more than the page has asked the camera for. */
  async #scaleCamera(): Promise<void> {
    const track = this.#outgoing.get("video");
    const height = Math.min(this.#cameraHeight, heightFor(this.#connections.size + 1));
    if (!track || height === 0 || track.getSettings().height === height) return;
    const { aspectRatio = 16 / 9 } = track.getSettings();
    const wanted = { height: { ideal: height }, width: { ideal: Math.round(height * aspectRatio) } };
    // A camera that cannot is scaled when it is encoded.
    await track.applyConstraints({ ...track.getConstraints(), ...wanted }).catch(() => undefined);
  }

  #show(): void {
    for (const [who, connection] of this.#connections) {
      const { quality } = connection;
      if (this.#qualities.get(who) === quality) continue;
      this.#qualities.set(who, quality);
      this.#listeners.emit("quality", who, quality);
    }
    for (const who of this.#qualities.keys()) if (!this.#connections.has(who)) this.#qualities.delete(who);
    const tracks = [...this.#connections].flatMap(([participantSession, connection]) =>
      connection.tracks.map(([kind, track]) => ({ participantSession, kind, track })),
    );
    const before = this.#tracks;
    if (tracks.length === before.length && tracks.every(({ track }, at) => track === before[at]?.track)) return;
    this.#tracks = tracks;
    this.#listeners.emit("tracks");
  }
}

function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}
