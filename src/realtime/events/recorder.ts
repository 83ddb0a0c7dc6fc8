/**
 * The flight recorder: the last lifecycle events of each connection, also for a minute after it has ended, to explain what
 * happened to a peer. Messages appear only as counts. It is always on, so it costs a few writes to typed arrays per event, and its
 * memory has a fixed bound: MEMORY_MAX_BYTES.
 */
import type { KnownOfClient } from "../../access/tokens/token-refusal.ts";
import type { Clock } from "../../base/clock.ts";
import { type SpaceId, spaceOf } from "../../base/ids.ts";
import { CODES, type Code } from "../../protocol/codes.ts";
import { PEER_ID_MAX_CHARS } from "../../protocol/limits.ts";
import { type Connection, connectionId, nextConnectionNumber } from "../state/connection.ts";
import type { Spaces } from "../state/spaces.ts";
import { EndedConnections } from "./ended-connections.ts";
import { ENTRY_BYTES, EventRing, NAMES_MAX_BYTES, nameBytes, RING_ENTRIES_MAX } from "./event-ring.ts";
import { type ConnectRefusal, OPERATOR_CODES } from "./events.ts";

/** Lifecycle events that are shown per connection. */
const SHOWN_PER_CONNECTION = 32;
/** A peer may have any number of connections: the newest are shown. */
const CONNECTIONS_PER_PEER_MAX = 32;
const EVENTS_PER_PEER_MAX = 256;
const ENDED_MAX = 1 << 14;
const READABLE_AFTER_END_MS = 60_000;

/** References to the space, peer id and key id, three numbers, and the text of the peer id, which only this may keep alive. */
const ENDED_BYTES = 6 * 8 + nameBytes("x".repeat(PEER_ID_MAX_CHARS));
export const MEMORY_MAX_BYTES = RING_ENTRIES_MAX * ENTRY_BYTES + NAMES_MAX_BYTES + ENDED_MAX * ENDED_BYTES;

const KINDS = ["connect", "refuse", "subscribe", "unsubscribe", "error", "close", "state", "renew"] as const;
const [CONNECT, REFUSE, SUBSCRIBE, UNSUBSCRIBE, ERROR, CLOSE, STATE, RENEW] = [0, 1, 2, 3, 4, 5, 6, 7];
const CODE_NAMES: readonly string[] = [...Object.keys(CODES), ...OPERATOR_CODES];
const CODE_NUMBERS: ReadonlyMap<string, number> = new Map(CODE_NAMES.map((code, i) => [code, i]));

export interface RecordedEvent {
  /** Unix ms. Of a repeated error the last time; of `publish` the time up to which it counts. */
  readonly at: number;
  readonly kind: (typeof KINDS)[number] | "publish";
  /** A refused connect has one of its own. */
  readonly connectionId: string;
  readonly keyId?: string;
  readonly channel?: string;
  /** The code of an error or of a refusal, or the close code. */
  readonly code?: string | number;
  /** `publish`: the messages, published or sent, since the event before. `error`, `state`, `renew`: how often in a row, if more than once. */
  readonly count?: number;
}

export class Recorder {
  private readonly ring = new EventRing();
  private readonly ended = new EndedConnections(ENDED_MAX);

  constructor(
    private readonly clock: Clock,
    private readonly spaces: Spaces,
  ) {}

  connected(connection: Connection): void {
    this.add(connection, CONNECT);
  }

  subscribed(connection: Connection, channel: string): void {
    this.add(connection, SUBSCRIBE, 0, channel);
  }

  unsubscribed(connection: Connection, channel: string): void {
    this.add(connection, UNSUBSCRIBE, 0, channel);
  }

  /** A member that changes its state all the time must not push the events of all others out of the ring. */
  stateSet(connection: Connection, channel: string): void {
    if (this.ring.repeat(connection.lastEvent, STATE, this.clock.wallMs(), 0, channel)) return;
    this.add(connection, STATE, 0, channel);
  }

  /** `keyId`: the key before. It stands in place of a channel's name, because the events before this one are shown with it. */
  renewed(connection: Connection, keyId: string): void {
    const before = keyId === connection.keyId ? undefined : keyId;
    if (!before && this.ring.repeat(connection.lastEvent, RENEW, this.clock.wallMs(), 0, undefined)) return;
    this.add(connection, RENEW, 0, before);
  }

  /** A client that repeats a mistake with every frame must not push the events of all others out of the ring. */
  failed(connection: Connection, code: Code, channel: string | undefined): void {
    const number = CODE_NUMBERS.get(code) ?? 0;
    if (this.ring.repeat(connection.lastEvent, ERROR, this.clock.wallMs(), number, channel)) return;
    this.add(connection, ERROR, number, channel);
  }

  closed(connection: Connection, code: number): void {
    const now = this.clock.wallMs();
    this.add(connection, CLOSE, code, undefined, now);
    const { peer, peerId, keyId, number, lastEvent } = connection;
    this.ended.add(peer.space.id, peerId, keyId, number, lastEvent, now);
  }

  /** Only where the credential proves who the peer is. */
  refused(code: ConnectRefusal, { app, keyId, peerId }: KnownOfClient): void {
    if (app === undefined || keyId === undefined || peerId === undefined) return;
    const now = this.clock.wallMs();
    const event = this.ring.add(REFUSE, now, 0, 0, CODE_NUMBERS.get(code));
    this.ended.add(spaceOf(app), peerId, keyId, nextConnectionNumber(), event, now);
  }

  /** The newest is last. */
  ofPeer(spaceId: SpaceId, peerId: string): readonly RecordedEvent[] {
    const now = this.clock.wallMs();
    const live = this.spaces.peer(spaceId, peerId)?.connections.slice(-CONNECTIONS_PER_PEER_MAX) ?? [];
    const ended = this.ended.of(spaceId, peerId, now - READABLE_AFTER_END_MS).slice(-CONNECTIONS_PER_PEER_MAX);
    const events = [
      ...ended.flatMap(({ number, keyId, lastEvent }) => this.chain(connectionId(number), keyId, lastEvent)),
      ...live.flatMap((one) => this.chain(one.id, one.keyId, one.lastEvent, { published: one.published, at: now })),
    ];
    return events.sort((a, b) => a.at - b.at).slice(-EVENTS_PER_PEER_MAX);
  }

  /** Unix ms at which the peer's last connection on this node ended; undefined: none has, or it is not kept any more. */
  lastClosedMs(spaceId: SpaceId, peerId: string): number | undefined {
    const last = this.ended
      .of(spaceId, peerId, Number.NEGATIVE_INFINITY)
      .map(({ lastEvent }) => this.ring.read(lastEvent))
      // Refused connects are among them.
      .findLast((entry) => entry?.kind === CLOSE);
    return last?.at;
  }

  /** At most how much memory it takes now. */
  get bytes(): number {
    return this.ring.bytes + this.ended.size * ENDED_BYTES;
  }

  private add(connection: Connection, kind: number, code?: number, channel?: string, at = this.clock.wallMs()): void {
    const { lastEvent, published } = connection;
    connection.lastEvent = this.ring.add(kind, at, lastEvent, published, code, channel);
  }

  /** `until`: what an open connection has sent by now. */
  private chain(id: string, keyId: string, from: number, until?: { published: number; at: number }): RecordedEvent[] {
    const newestFirst: RecordedEvent[] = [];
    let base = { connectionId: id, keyId };
    let later = until;
    let entry = this.ring.read(from);
    for (let shown = 0; entry && shown < SHOWN_PER_CONNECTION; shown++) {
      const { at, kind, code, name, published, repeats, previous } = entry;
      const count = later ? later.published - published : 0;
      if (later && count > 0) newestFirst.push({ ...base, at: later.at, kind: "publish", count });
      newestFirst.push({
        ...base,
        at,
        kind: KINDS[kind] ?? "error",
        ...(name !== undefined && kind !== RENEW && { channel: name }),
        ...(kind === CLOSE && { code }),
        ...((kind === ERROR || kind === REFUSE) && { code: CODE_NAMES[code] ?? "" }),
        ...(repeats > 0 && { count: repeats + 1 }),
      });
      if (kind === RENEW && name !== undefined) base = { connectionId: id, keyId: name };
      later = { published, at };
      entry = this.ring.read(previous);
    }
    return newestFirst.reverse();
  }
}
