/** What a connection was written, frame by frame, against what the model says it must be. The first broken rule throws. */
import type { Entry, Received } from "../../src/realtime/testing/kit.ts";
import type { ShownLog } from "./shown.ts";
import { type Held, isShown, type Line, membersOf, type Picture, type Word } from "./truth.ts";

/** A roster that waits in vain for its pong is due 500 ms after the ack; much earlier it must not come. */
const GATE_WAIT_MIN_MS = 400;

/** Who leaves and comes back within a tick is no newcomer. */
const TICK_MAX_MS = 60;

export class Broken extends Error {}

export interface Scene {
  readonly lines: readonly Line[];
  readonly words: ReadonlyMap<number, Word>;
  readonly isOneNode: boolean;
  nowMs(): number;
  /** When everything that had come was read last. */
  readonly lookedMs: number;
  readonly shown: ShownLog;
  count(what: string): void;
}

export const nameOf = (line: Line): string => `${line.peerId.slice(0, 8)}#${line.number}`;

/** Somebody was shown a peer in a channel that it did not know there. */
interface Join {
  readonly line: Line;
  readonly channel: string;
  readonly peerId: string;
}

export class Ears {
  private joins: Join[] = [];

  constructor(private readonly scene: Scene) {}

  /** When everybody has read: newcomers are shown when they have their roster, or speak to those who are shown them. */
  judgeJoins(): void {
    for (const { line, channel, peerId } of this.joins.splice(0)) {
      const held = this.scene.lines.flatMap((one) =>
        one.app === line.app && one.peerId === peerId && one.isOpen ? (one.held.get(channel) ?? []) : [],
      );
      const isComing = held.length > 0 && held.every(({ picture, presence }) => !presence || picture === "awaited");
      if (!isComing || this.scene.shown.isDamped(line, channel, peerId)) continue;
      const sinceMs = Math.min(...held.map(({ ackedAfterMs }) => ackedAfterMs));
      if (this.hasSpoken(line, peerId, sinceMs)) continue;
      if (this.scene.shown.hasLeft(line, channel, peerId, sinceMs - TICK_MAX_MS)) continue;
      broken(line, `${peerId} joined ${channel} before its own roster`);
    }
  }

  /** In any channel, or to this one directly. */
  private hasSpoken({ app, peerId }: Line, speaker: string, sinceMs: number): boolean {
    for (const { line, channel, to, atMs } of this.scene.words.values()) {
      if (line.app !== app || line.peerId !== speaker || atMs < sinceMs) continue;
      if (channel !== undefined || to === peerId) return true;
    }
    return false;
  }

  /** Reads what has come to a connection since the last time. Answers to sends are judged when everybody has read. */
  read(line: Line): [requestId: string, code: string][] {
    const { written } = line.socket;
    const answers: [string, string][] = [];
    while (line.read < written.length) {
      const text = written[line.read++] as string;
      const frame = JSON.parse(text) as Received;
      if (text.includes("private") && frame.type !== "welcome") broken(line, `private metadata in ${text}`);
      this.scene.count(frame.code ? `error ${frame.code}` : frame.snapshot ? "roster" : frame.type);
      const answer = this.frame(line, frame);
      if (answer) answers.push(answer);
    }
    return answers;
  }

  private frame(line: Line, frame: Received): [string, string] | undefined {
    switch (frame.type) {
      case "ack":
      case "error":
        return this.answer(line, frame);
      case "message":
      case "direct":
        return this.heard(line, frame);
      case "presence":
        return this.presence(line, frame);
      default:
        return broken(line, `an unexpected frame: ${JSON.stringify(frame)}`);
    }
  }

  private answer(line: Line, { type, requestId, code }: Received): [string, string] | undefined {
    const result = type === "ack" ? "ack" : (code ?? "");
    if (requestId === undefined) {
      // The end of a secret's grace is told before the close; whether it had ended is judged with the close.
      if (result === "token_expired") return undefined;
      if (line.errors.shift() !== result) broken(line, `an error nothing asked for: ${result}`);
      return undefined;
    }
    const request = line.unanswered.get(requestId);
    if (!request) return broken(line, `a second answer to ${requestId}, or to nothing: ${result}`);
    line.unanswered.delete(requestId);
    if (request.expect === "sent") {
      line.unanswered.set(`${requestId} judged`, request);
      return [`${requestId} judged`, result];
    }
    const { held } = request;
    // An edit of the key has ended the subscription before it was answered.
    const expected = held?.isTaken ? "channel_not_authorized" : request.expect;
    if (expected !== result) broken(line, `${requestId} was answered ${result} instead of ${expected}`);
    if (!held || held.isTaken) return undefined;
    // A late ack of what it has given up itself meanwhile changes nothing.
    if (line.held.get(held.channel) !== held) return undefined;
    held.acked = true;
    held.ackedAfterMs = this.scene.lookedMs;
    held.ackedMs = this.scene.nowMs();
    if (!held.presence) return undefined;
    held.wasKnown = this.staying(line, line.peerId, held.channel).some((one) => one.rosterMs <= this.scene.lookedMs);
    held.picture = "awaited";
    held.gate = ++line.gates;
    return undefined;
  }

  private heard(line: Line, { type, channel, from, fromMetadata, data }: Received): undefined {
    const { n: number } = data as { n: number };
    const word = this.scene.words.get(number);
    const what = `${type} ${number} from ${from}`;
    if (!word) return broken(line, `${what}, which nobody said`);
    const speaker = word.line;
    if (speaker.app !== line.app) broken(line, `${what}: of another application`);
    if (speaker === line) broken(line, `${what}: its own`);
    if (from !== speaker.peerId) broken(line, `${what}: said by ${nameOf(speaker)}`);
    if (line.heard.has(number)) broken(line, `${what}: twice`);
    line.heard.add(number);
    line.owed.delete(number);
    const isSameNode = speaker.node === line.node;
    const lane = `${speaker.number} ${isSameNode ? "" : (word.channel ?? "direct")}`;
    if ((line.lastWord.get(lane) ?? 0) > number) broken(line, `${what}: behind ${line.lastWord.get(lane)}`);
    line.lastWord.set(lane, number);
    const held = word.channel === undefined ? undefined : line.held.get(word.channel);
    if (word.channel === undefined) {
      if (type !== "direct" || word.to !== line.peerId) broken(line, `${what}: not meant for it`);
    } else {
      if (type !== "message" || word.channel !== channel) broken(line, `${what}: on the wrong channel ${channel}`);
      if (!held) return broken(line, `${what}: on ${channel}, which it does not hold`);
      if (isSameNode && number <= held.afterWord) broken(line, `${what}: said before it subscribed`);
    }
    const expected = !held || held.wantsMetadata ? speaker.metadata : "";
    if (textOf(fromMetadata) !== expected)
      broken(line, `${what}: fromMetadata ${textOf(fromMetadata)}, not ${expected}`);
    this.isKnown(line, word, what);
  }

  /** What is to be told about a speaker is told before its words. */
  private isKnown(line: Line, { line: speaker, channel, wasMember }: Word, what: string): void {
    const { peerId } = speaker;
    if (peerId === line.peerId) return;
    for (const held of line.held.values()) {
      if (!(held.picture instanceof Map)) continue;
      const known = held.picture.get(peerId);
      if (this.scene.isOneNode) {
        const truth = membersOf(this.scene.lines, line.app, held.channel).get(peerId);
        // What is held back of a member that comes and goes too often is not shown before its words, but that it is there is.
        const mayBeOld = known !== undefined && this.scene.shown.isDamped(line, held.channel, peerId);
        if (known !== truth && !mayBeOld)
          broken(line, `${what}: it knows ${known} of it on ${held.channel}, true is ${truth}`);
      } else if (known === undefined) {
        const must =
          speaker.node === line.node ? isShown(speaker, held.channel) : wasMember && channel === held.channel;
        if (must) broken(line, `${what}: not yet known on ${held.channel}`);
      }
    }
  }

  private presence(line: Line, { channel = "", joined = [], left = [], snapshot }: Received): undefined {
    const held = line.held.get(channel);
    if (!held?.acked) return broken(line, `presence of ${channel}, which it does not hold`);
    if (!held.presence) return broken(line, `presence of ${channel} without that action`);
    if (snapshot) {
      const isEarly = held.gate > line.ponged && this.scene.nowMs() - held.ackedAfterMs < GATE_WAIT_MIN_MS;
      if (isEarly) broken(line, `a roster of ${channel} before the pong behind its ack`);
      held.rosterMs = this.scene.nowMs();
      return roster(line, held, joined, left);
    }
    const { picture } = held;
    if (!(picture instanceof Map)) return broken(line, `a change of ${channel} between ack and roster`);
    if (joined.length + left.length === 0) broken(line, `a change of nothing on ${channel}`);
    for (const { peerId, metadata } of joined) {
      this.scene.shown.add(line, channel, peerId, textOf(metadata));
      if (peerId === line.peerId) continue;
      if (picture.get(peerId) === textOf(metadata)) broken(line, `${peerId} joined ${channel} again, unchanged`);
      if (this.scene.isOneNode && !picture.has(peerId)) this.joins.push({ line, channel, peerId });
      this.isOurs(line, peerId, metadata);
      picture.set(peerId, textOf(metadata));
    }
    for (const { peerId, metadata } of left) {
      if (!picture.has(peerId)) broken(line, `${peerId} left ${channel}, who was not there`);
      if (picture.get(peerId) !== textOf(metadata)) broken(line, `${peerId} left ${channel} with other metadata`);
      for (const other of this.staying(line, peerId, channel)) {
        if (other.ackedMs > this.scene.lookedMs) continue;
        broken(line, `${peerId} left ${channel}, who still has a connection there`);
      }
      picture.delete(peerId);
      this.scene.shown.add(line, channel, peerId, undefined);
    }
  }

  /** A peer's connections on the same node that are in a channel. */
  private staying({ app, node }: Line, peerId: string, channel: string): Held[] {
    return this.scene.lines
      .filter((one) => one.app === app && one.peerId === peerId && one.node === node && !one.socket.closed)
      .flatMap((one) => (isShown(one, channel) ? (one.held.get(channel) ?? []) : []));
  }

  /** Somebody with that metadata has been in this application. */
  private isOurs(line: Line, peerId: string, metadata: unknown): void {
    const isKnown = this.scene.lines.some(
      (one) => one.app === line.app && one.peerId === peerId && one.metadata === textOf(metadata),
    );
    if (!isKnown) broken(line, `${peerId} ${textOf(metadata)} is told, of whom there is none here`);
  }
}

function roster(line: Line, held: Held, joined: readonly Entry[], left: readonly Entry[]): undefined {
  if (held.picture !== "awaited") broken(line, `a roster of ${held.channel} it did not ask for`);
  if (left.length > 0) broken(line, `a roster of ${held.channel} with somebody who left`);
  const picture: Picture = new Map(joined.map(({ peerId, metadata }) => [peerId, textOf(metadata)]));
  if (picture.size < joined.length) broken(line, `somebody twice in the roster of ${held.channel}`);
  if (picture.has(line.peerId)) broken(line, `itself in its roster of ${held.channel}`);
  held.picture = picture;
}

export function broken(line: Line, what: string): never {
  throw new Broken(`${nameOf(line)} on node ${line.node}: ${what}`);
}

const textOf = (metadata: unknown): string => (metadata === undefined ? "" : JSON.stringify(metadata));
