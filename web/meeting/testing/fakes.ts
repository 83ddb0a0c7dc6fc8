/** Ports of a meeting without a service, a network or devices: for unit tests, and to look at every state of the page. */
import { signal } from "@preact/signals";
import type { Kind, MediaEngine, MediaEvents, RemoteTrack } from "../call/contract.ts";
import type { Device } from "../call/devices.ts";
import type { Act, Api, Door, InLobby, Joined, JoinRequest } from "../page/api.ts";
import {
  type Failure,
  NOTHING_PENDING,
  type Pending,
  type RunOpening,
  type Source,
  type Uploads,
} from "../recording/contract.ts";
import type { RunSink } from "../recording/recorder.ts";
import type {
  LobbyConnection,
  LobbyEvents,
  Person,
  PersonState,
  RoomConnection,
  RoomEvents,
} from "../room/contract.ts";
import { type DeviceAccess, OwnMedia } from "../session/own-media.ts";
import type { VisitParts } from "../visit/parts.ts";
import { Visit } from "../visit/visit.ts";

type Listener = (...args: readonly unknown[]) => void;

class Events<E extends { [K in keyof E]: unknown[] }> {
  private readonly listeners = new Map<keyof E, Set<Listener>>();

  on<K extends keyof E>(event: K, listener: (...args: E[K]) => void): () => void {
    const all = this.listeners.get(event) ?? new Set();
    const added = listener as unknown as Listener;
    this.listeners.set(event, all.add(added));
    return () => all.delete(added);
  }

  emit<K extends keyof E>(event: K, ...args: E[K]): void {
    for (const listener of [...(this.listeners.get(event) ?? [])]) listener(...args);
  }
}

export const SILENT: PersonState = { audio: false, video: false, screen: false, hand: false, recording: false };

export const person = (participantSession: string, more: Partial<Person> = {}): Person => ({
  participantSession,
  name: participantSession,
  isAdmin: false,
  isGuest: false,
  isLost: false,
  state: { ...SILENT, audio: true },
  ...more,
});

export class FakeRoom extends Events<RoomEvents> implements RoomConnection {
  inside: readonly Person[] = [];
  readonly states: PersonState[] = [];
  readonly said: string[] = [];
  readonly reactions: string[] = [];
  retries = 0;
  isClosed = false;
  readonly signalling: RoomConnection["signalling"] = {
    self: "me",
    isResumed: false,
    isOnline: () => true,
    others: () => [],
    onOthers: () => () => undefined,
    send: async () => undefined,
    onSignal: () => () => undefined,
  };

  people(): readonly Person[] {
    return this.inside;
  }

  show(...people: Person[]): void {
    this.inside = people;
    this.emit("people");
  }

  setState(state: PersonState): void {
    this.states.push(state);
  }

  async say(text: string): Promise<void> {
    this.said.push(text);
    const line = { name: "me", isAdmin: false, isGuest: false, text, timeMs: Date.now(), isEarlier: false };
    this.emit("chat", { id: `own ${this.said.length}`, from: "me", ...line });
  }

  async react(name: string): Promise<void> {
    this.reactions.push(name);
  }

  retry(): void {
    this.retries++;
  }

  close(): void {
    this.isClosed = true;
  }
}

class FakeLobby extends Events<LobbyEvents> implements LobbyConnection {
  isClosed = false;

  close(): void {
    this.isClosed = true;
  }
}

class FakeEngine extends Events<MediaEvents> implements MediaEngine {
  readonly published = new Map<Kind, MediaStreamTrack | null>();
  readonly muted = new Set<Kind>();
  isAllowed: (participantSession: string, kind: Kind) => boolean = () => false;
  remote: readonly RemoteTrack[] = [];
  hasLeft = false;
  /** All that it was given, one after the other. */
  readonly iceServers: (readonly RTCIceServer[])[] = [];

  join(_signalling: unknown, iceServers: readonly RTCIceServer[]): void {
    this.iceServers.push(iceServers);
  }

  setIceServers(iceServers: readonly RTCIceServer[]): void {
    this.iceServers.push(iceServers);
  }

  level(): number {
    return 0;
  }

  qualityOf(): "good" {
    return "good";
  }

  async publish(kind: Kind, track: MediaStreamTrack | null): Promise<void> {
    this.published.set(kind, track);
  }

  mute(kind: Kind, isMuted: boolean): void {
    if (isMuted) this.muted.add(kind);
    else this.muted.delete(kind);
  }

  tracks(): readonly RemoteTrack[] {
    return this.remote.filter(({ participantSession, kind }) => this.isAllowed(participantSession, kind));
  }

  allow(isAllowed: (participantSession: string, kind: Kind) => boolean): void {
    this.isAllowed = isAllowed;
  }

  leave(): void {
    this.hasLeft = true;
  }
}

export const DOOR: Door = {
  roomName: "standup",
  privacy: "public",
  lang: "en",
  autoJoin: false,
  audioOnlyRoom: false,
  recording: false,
  state: "open",
  enableRequestToJoin: true,
  inside: 3,
};

export const JOINED: Joined = {
  participantSession: "me",
  name: "Ada Lovelace",
  isAdmin: false,
  isGuest: false,
  may: { audio: true, video: true, screen: true, chat: true, record: false },
  room: { roomName: "standup" },
  connect: { url: "ws://localhost/v1", token: "rt_1" },
  iceServers: [],
};

class FakeApi implements Api {
  readonly joins: JoinRequest[] = [];
  readonly acts: Act[] = [];
  doorNow: () => Door = () => DOOR;
  answer: (request: JoinRequest) => Joined | InLobby = () => JOINED;

  readonly tokens: (string | undefined)[] = [];

  async door(token?: string): Promise<Door> {
    this.tokens.push(token);
    return this.doorNow();
  }

  async join(request: JoinRequest): Promise<Joined | InLobby> {
    this.joins.push(request);
    return this.answer(request);
  }

  async act(_token: string, act: Act): Promise<void> {
    this.acts.push(act);
  }
}

/** `open` makes a track, or throws. */
export const fakeDevices = (open: (kind: Kind) => MediaStreamTrack, devices: readonly Device[] = []): DeviceAccess => ({
  openMicrophone: async () => open("audio"),
  openCamera: async () => open("video"),
  shareScreen: async () => open("screen"),
  canShareScreen: () => true,
  listDevices: async () => devices,
  onDevicesChanged: () => () => undefined,
});

/** Takes everything, and uploads nothing. */
class FakeUploads implements Uploads {
  readonly pending = signal<Pending>(NOTHING_PENDING);
  readonly isInMemory = signal(false);
  readonly opened: RunOpening[] = [];
  readonly ended: string[] = [];
  readonly spoken: (readonly (readonly [number, number])[])[] = [];
  readonly tokens: string[] = [];
  readonly #listeners = new Set<(run: string, why: Failure) => void>();

  open(opening: RunOpening): void {
    this.opened.push(opening);
  }

  part(): void {}

  end(run: string): void {
    this.ended.push(run);
  }

  thumbnail(): void {}

  /** What was said of runs that had not ended. */
  speech(run: string, intervals: readonly (readonly [number, number])[]): void {
    if (!this.ended.includes(run)) this.spoken.push(intervals);
  }

  setToken(_stay: string, token: string): void {
    this.tokens.push(token);
  }

  resume(): void {}

  onFailed(listener: (run: string, why: Failure) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The run that was opened last fails, or another one. */
  fail(why: Failure, run = this.opened.at(-1)?.run ?? ""): void {
    for (const listener of [...this.#listeners]) listener(run, why);
  }
}

/** Something that looks at a run, and has heard one word when it is stopped. */
interface FakeObservation {
  isMuted: boolean;
  isStopped: boolean;
}

/** A recorder that records nothing; it knows whether it is muted. */
export interface FakeRecorder {
  readonly source: Source;
  readonly tracks: readonly MediaStreamTrack[];
  readonly sink: RunSink;
  isMuted: boolean;
  isStopped: boolean;
}

export interface Fakes {
  readonly uploads: FakeUploads;
  readonly recorders: readonly FakeRecorder[];
  readonly observations: readonly FakeObservation[];
  readonly visit: Visit;
  readonly api: FakeApi;
  /** The last one that was opened. */
  readonly room: () => FakeRoom;
  readonly lobby: () => FakeLobby;
  readonly engine: () => FakeEngine;
}

export function fakeVisit(devices: DeviceAccess, more: Partial<VisitParts> = {}): Fakes {
  const api = new FakeApi();
  let room = new FakeRoom();
  let lobby = new FakeLobby();
  let engine = new FakeEngine();
  const uploads = new FakeUploads();
  const recorders: FakeRecorder[] = [];
  const observations: FakeObservation[] = [];
  const visit = new Visit({
    roomName: "standup",
    api,
    media: new OwnMedia(devices),
    openRoom: () => {
      room = new FakeRoom();
      return room;
    },
    openLobby: () => {
      lobby = new FakeLobby();
      return lobby;
    },
    makeEngine: () => {
      engine = new FakeEngine();
      return engine;
    },
    uploads,
    startRecorder: (source, tracks, sink) => {
      const recorder: FakeRecorder = { source, tracks, sink, isMuted: false, isStopped: false };
      recorders.push(recorder);
      return {
        setMuted: (isMuted) => (recorder.isMuted = isMuted),
        stop: () => {
          recorder.isStopped = true;
          sink.end();
        },
      };
    },
    observe: (run, sink) => {
      const observed: FakeObservation = { isMuted: run.isMuted, isStopped: false };
      observations.push(observed);
      return {
        setMuted: (isMuted) => (observed.isMuted = isMuted),
        stop: () => {
          observed.isStopped = true;
          sink.speech([[100, 900]]);
        },
      };
    },
    token: undefined,
    isFramed: false,
    defaultName: () => "Guest",
    ...more,
  });
  return { visit, api, uploads, recorders, observations, room: () => room, lobby: () => lobby, engine: () => engine };
}
