/**
 * Held members over the end of a node (history 4). A node that stops writes a note about them into the store, and the others read
 * it before that node leaves: a direct message to one of its peers would otherwise find no one for a moment. A node that starts
 * reads all that are new enough: after a restart of the only node, or of all, no one else knows them. The others read the note of a node that is gone,
 * for channels that they did not watch. Read members wait here until their channel opens. Notes stay in a store that nodes share: a
 * node believes them only of peers that no node has seen back (returned-peers.ts).
 */
import type { Clock } from "../../base/clock.ts";
import { asSpaceId, type SpaceId } from "../../base/ids.ts";
import type { MemberState, NodeName, RemoteMembers } from "../../engine/engine.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import { HOLD_MS } from "../../protocol/limits.ts";
import type { HeldMemberStore, HeldMembersNote } from "../../store/contract/held-members.ts";
import { StoreUnreachable } from "../../store/contract/store.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Holds } from "../connections/holds.ts";
import { LINGERING_MAX } from "../connections/limits.ts";
import type { Channel } from "../state/channel.ts";
import type { Spaces } from "../state/spaces.ts";
import { NOTED_MEMBERS_MAX, NOTED_MEMBERS_MAX_CHARS } from "./limits.ts";
import type { Lingering } from "./lingering.ts";
import { type NotedMember, readNote, stateOfNoted, writeNote } from "./note-text.ts";
import { type PeerName, ReturnedPeers } from "./returned-peers.ts";

/** A node must be back within this time for its note to count. */
const NOTE_MS = 30_000;
/** Clients wait between their attempts for as long as they have tried so far, and a fifth more. */
const WAIT_PER_AWAY = 1.25;
/** Notes have times of the clock of the node that wrote them, which may be that far from this one's. */
const SKEW_MAX_MS = 5000;
/** A store that does not answer must not keep a node from stopping. */
const WRITE_MAX_MS = 3000;
/** A peer that is back on another node subscribes within this time: until then it is still expected in its channels. */
const SUBSCRIBED_WITHIN_MS = 2000;

interface NotesParts {
  readonly id: NodeName;
  /** Absent: nothing is noted. */
  readonly heldMembers?: HeldMemberStore | undefined;
  readonly clock: Clock;
  readonly spaces: Spaces;
  readonly holds: Holds;
  readonly lingering: Lingering;
  readonly faults: FaultLog;
  readonly nodeRequests: Pick<NodeRequests, "gather" | "onRequest" | "othersKnown">;
}

/** The name of the request to take over the peers that a node holds. */
const TAKE_OVER = "held-peers";

export class Notes {
  /**
   * By application and channel: members whose channel has not opened here yet. Bound: NOTED_MEMBERS_MAX per note, half of them of
   * one application, for 10 s; the others leave and join.
   */
  private readonly noted = new Map<string, MemberState[]>();
  private isTimerSet = false;

  /** What this node has noted. */
  private written: HeldMembersNote | undefined;
  /** Until when the notes count that were read at the start, Unix ms; undefined: they are gone. */
  private readUntilMs: number | undefined;
  private readonly returned: ReturnedPeers;

  constructor(private readonly parts: NotesParts) {
    const { clock, nodeRequests, holds } = parts;
    nodeRequests.onRequest(TAKE_OVER, (node) => this.takeOver(node));
    this.returned = new ReturnedPeers({
      clock,
      nodeRequests,
      rememberedMs: NOTE_MS,
      returnedElsewhere: (peers) => this.returnedElsewhere(peers),
      failed: (error) => this.failed(error),
    });
    holds.onHold = (spaceId, peerId) => this.returned.expectedAgain(spaceId, peerId);
    // Other nodes do not expect those whose connection this node has closed, unless it stops: then it does not note them.
    holds.onReturn = (spaceId, peerId, isOwn) => this.returned.add(spaceId, peerId, !isOwn);
  }

  /** This node stops, and its connections are closed. Never rejects. */
  async write(): Promise<void> {
    await this.dropRead();
    const texts = writeNote(this.held(), NOTED_MEMBERS_MAX, NOTED_MEMBERS_MAX_CHARS);
    if (this.parts.heldMembers && texts.length > 0)
      await this.put({ untilMs: this.parts.clock.wallMs() + NOTE_MS, texts });
  }

  private async put(note: HeldMembersNote): Promise<void> {
    const { heldMembers, clock, id } = this.parts;
    this.written = note;
    await this.inTime(heldMembers?.put(id, note, clock.wallMs()));
  }

  private async inTime(work: Promise<void> | undefined): Promise<void> {
    const tooLate = new Promise<void>((resolve) => this.parts.clock.after(WRITE_MAX_MS, resolve));
    await Promise.race([work, tooLate]).catch((error) => this.failed(error));
  }

  /** This node leaves the others: resolves when they expect its peers too, or after a second. Never rejects. */
  async handOver(): Promise<void> {
    const { nodeRequests, id } = this.parts;
    if (!this.written) return;
    const { untilMs, texts } = this.written;
    const members = readNote(texts, NOTED_MEMBERS_MAX);
    // Some have come back to other nodes since, and may have said goodbye there.
    const expected = members.filter(({ spaceId, peerId }) => !this.returned.has(spaceId, peerId));
    if (expected.length < members.length)
      await this.put({ untilMs, texts: writeNote(expected, NOTED_MEMBERS_MAX, NOTED_MEMBERS_MAX_CHARS) });
    await nodeRequests.gather(TAKE_OVER, id, Boolean).catch((error) => this.failed(error));
  }

  /** Only the peers: its members are kept when it is gone. */
  private async takeOver(node: unknown): Promise<boolean> {
    const { heldMembers, clock, holds, id } = this.parts;
    if (typeof node !== "string" || node === id) return false;
    const note = await heldMembers?.read(clock.wallMs(), node);
    if (!note) return true;
    const untilMs = clock.steadyMs() + this.leftOf(note);
    for (const { spaceId, peerId, keyId } of readNote(note.texts, NOTED_MEMBERS_MAX))
      holds.inherit(spaceId, peerId, untilMs, keyId);
    return true;
  }

  /** This node starts: from now on members of the notes are expected back. Never rejects. */
  async readAll(): Promise<void> {
    const { heldMembers, clock } = this.parts;
    await this.read(this.believed(heldMembers?.take(clock.wallMs())), (note) => this.returnMs(note), LINGERING_MAX);
  }

  /** Notes that a node reads which starts. It waits until it knows who has come back to the others. */
  private async believed(
    taking: Promise<HeldMembersNote | undefined> | undefined,
  ): Promise<HeldMembersNote | undefined> {
    const note = await taking;
    if (!note) return undefined;
    // Those that start together with this node read them by then. Afterwards this node knows better.
    this.readUntilMs = note.untilMs;
    this.parts.clock.after(HOLD_MS, () => void this.dropRead());
    return (await this.returned.ask()) ? note : undefined;
  }

  private async dropRead(): Promise<void> {
    const { readUntilMs } = this;
    this.readUntilMs = undefined;
    if (readUntilMs !== undefined) await this.inTime(this.parts.heldMembers?.drop(readUntilMs));
  }

  /** Another node is gone. Never rejects. */
  async nodeGone(name: NodeName): Promise<void> {
    const { heldMembers, clock } = this.parts;
    await this.read(heldMembers?.read(clock.wallMs(), name), (note) => this.leftOf(note));
  }

  private async read(
    reading: Promise<HeldMembersNote | undefined> | undefined,
    leftMs: (note: HeldMembersNote) => number,
    maxMembers = NOTED_MEMBERS_MAX,
  ): Promise<void> {
    try {
      const note = await reading;
      if (!note) return;
      this.expect(readNote(note.texts, maxMembers), this.parts.clock.steadyMs() + leftMs(note));
    } catch (error) {
      this.failed(error);
    }
  }

  /** For how much longer its members are expected; the clock of the node that wrote it may be another one. */
  private leftOf({ untilMs }: HeldMembersNote): number {
    const writtenMs = untilMs - NOTE_MS;
    return Math.min(HOLD_MS, writtenMs + HOLD_MS + SKEW_MAX_MS - this.parts.clock.wallMs());
  }

  /**
   * For how long its members are expected by a node that starts. Clients double the time between their attempts: those that have tried
   * in vain for long make the next one late.
   */
  private returnMs({ untilMs }: HeldMembersNote): number {
    const awayMs = this.parts.clock.wallMs() - (untilMs - NOTE_MS);
    return Math.min(Math.max(HOLD_MS, awayMs * WAIT_PER_AWAY), NOTE_MS);
  }

  /** Without the note members leave and join; nothing else depends on it. That the store is not responding is logged elsewhere. */
  private failed(error: unknown): void {
    if (!(error instanceof StoreUnreachable)) this.parts.faults.caught("engine", error);
  }

  /** Peers have come back to another node. */
  private returnedElsewhere(peers: readonly PeerName[]): void {
    const { holds, clock } = this.parts;
    for (const [spaceId, peerId] of peers) holds.returnedElsewhere(spaceId, peerId);
    if (this.noted.size > 0) clock.after(SUBSCRIBED_WITHIN_MS, () => this.dropReturned(new Set(peers.map(peerKeyOf))));
  }

  private dropReturned(peers: ReadonlySet<string>): void {
    for (const [key, states] of this.noted) {
      const spaceId = asSpaceId(key.slice(0, key.indexOf(" ")));
      const isExpected = ({ peerId }: MemberState): boolean =>
        !peers.has(peerKeyOf([spaceId, peerId])) || !this.returned.has(spaceId, peerId);
      if (!states.every(isExpected)) this.noted.set(key, states.filter(isExpected));
    }
  }

  /** A channel has its first subscriber here. What another node knows of it is newer than a note. */
  opened(channel: Channel, remote: RemoteMembers): void {
    if (this.noted.size === 0) return;
    const key = keyOf(channel.space.id, channel.name);
    const states = this.noted.get(key) ?? [];
    this.noted.delete(key);
    if (remote.values().every((members) => members.length === 0)) this.keep(channel, states);
  }

  /** The peer was kicked. */
  endPeer(spaceId: SpaceId, peerId: string): void {
    for (const [key, states] of this.noted)
      if (key.startsWith(`${spaceId} `))
        this.noted.set(
          key,
          states.filter((state) => state.peerId !== peerId),
        );
  }

  /** `untilMs`: steady ms. */
  private expect(members: readonly NotedMember[], untilMs: number): void {
    const { holds, spaces } = this.parts;
    for (const member of members) {
      const { spaceId, peerId, channel: name, keyId } = member;
      if (this.returned.has(spaceId, peerId)) continue;
      holds.inherit(spaceId, peerId, untilMs, keyId);
      if (name === undefined) continue;
      const state = stateOfNoted(member, untilMs);
      const channel = spaces.channel(spaceId, name);
      if (channel && !channel.opening) this.keep(channel, [state]);
      else this.addNoted(keyOf(spaceId, name), state);
    }
    this.setTimer(untilMs);
  }

  private addNoted(key: string, state: MemberState): void {
    const states = this.noted.get(key);
    if (states) states.push(state);
    else this.noted.set(key, [state]);
  }

  private keep(channel: Channel, states: readonly MemberState[]): void {
    const { lingering } = this.parts;
    for (const state of states) {
      const known = channel.members.get(state.peerId);
      if (!known?.isConnected && !known?.lingeringState) lingering.keepNoted(channel, state);
    }
  }

  private *held(): Generator<NotedMember> {
    const { holds, lingering } = this.parts;
    for (const { channel, peer, lingeringState, isElsewhere } of lingering.all) {
      // The node of its other connection knows it, and notes it if it stops too.
      if (lingeringState?.state.lingers?.why !== "held" || isElsewhere) continue;
      const { peerId, metadataJson, stateJson, since, node, lingers } = lingeringState.state;
      const { keyId } = lingers;
      yield { spaceId: peer.space.id, peerId, channel: channel.name, keyId, metadataJson, stateJson, since, node };
    }
    const nothing = { channel: undefined, metadataJson: undefined, stateJson: undefined, since: 0, node: "" };
    for (const { spaceId, peerId, keyId } of holds.all) yield { ...nothing, spaceId, peerId, keyId };
  }

  private setTimer(untilMs: number): void {
    if (this.isTimerSet || this.noted.size === 0) return;
    this.isTimerSet = true;
    const { clock } = this.parts;
    clock.after(Math.max(0, untilMs - clock.steadyMs()) + 1, () => {
      this.isTimerSet = false;
      const nowMs = clock.steadyMs();
      for (const [key, states] of this.noted)
        if (states.every(({ lingers }) => (lingers?.untilMs ?? 0) <= nowMs)) this.noted.delete(key);
      this.setTimer(nowMs + HOLD_MS);
    });
  }
}

/** Unambiguous: an application's id contains no space. */
const keyOf = (spaceId: SpaceId, channel: string): string => `${spaceId} ${channel}`;
const peerKeyOf = ([spaceId, peerId]: PeerName): string => `${spaceId} ${peerId}`;
