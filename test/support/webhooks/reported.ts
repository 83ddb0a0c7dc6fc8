/**
 * Judges events of connections, channels, peers, meetings and participants by their numbers: they must fit each other, and what they add up to is
 * compared with what is so.
 */
import type { Received } from "./receiver.ts";

export interface Sums {
  readonly connections: readonly string[];
  readonly members: readonly string[];
  readonly channels: readonly string[];
  /** Ids of the meetings that run. */
  readonly meetings: readonly string[];
  /** Who is in them: the id of the meeting, and that of the stay. */
  readonly inside: readonly string[];
}

/** Without meetings. */
export const sumsOf = (connections: Iterable<string>, members: Iterable<string>): Sums => {
  const all = [...new Set(members)].sort();
  const channels = [...new Set(all.map((name) => name.slice(0, name.indexOf(" "))))].sort();
  return { connections: [...connections].sort(), members: all, channels, meetings: [], inside: [] };
};

/** What the events of one endpoint say, each counted once, in the order of `seq`. */
export class Reported {
  private readonly all = {
    connections: new Set<string>(),
    members: new Set<string>(),
    channels: new Set<string>(),
    meetings: new Set<string>(),
    inside: new Set<string>(),
  };
  /** What does not fit: a beginning of what has begun, or an end of what has not. */
  readonly wrong: string[] = [];
  /** Numbers that never came. */
  readonly missing: number[] = [];
  readonly count: number;

  constructor(got: readonly Received[]) {
    const bySeq = new Map(got.map((one) => [one.data.seq, one]));
    const last = Math.max(0, ...bySeq.keys());
    for (let seq = 1; seq <= last; seq++) {
      const one = bySeq.get(seq);
      if (one) this.add(one);
      else this.missing.push(seq);
    }
    this.count = bySeq.size;
  }

  private add({ type, data }: Received): void {
    const { peerId, connectionId, channel, seq, meetingSession, participantSession } = data as Fields;
    const { connections, members, channels, meetings, inside } = this.all;
    const member = `${channel} ${peerId}`;
    const stay = `${meetingSession} ${participantSession}`;
    const changes: Readonly<Record<string, readonly [Set<string>, unknown, boolean]>> = {
      "connection.opened": [connections, connectionId, true],
      "connection.closed": [connections, connectionId, false],
      "peer.joined": [members, member, true],
      "peer.left": [members, member, false],
      "channel.occupied": [channels, channel, true],
      "channel.vacated": [channels, channel, false],
      "meeting.started": [meetings, meetingSession, true],
      "meeting.ended": [meetings, meetingSession, false],
      "participant.joined": [inside, stay, true],
      "participant.left": [inside, stay, false],
    };
    const change = changes[type];
    if (!change) return;
    const [all, name, begins] = change;
    if (all.has(String(name)) === begins) this.wrong.push(`${seq} ${type} ${name}`);
    if (begins) all.add(String(name));
    else all.delete(String(name));
    if (type === "participant.joined" && !meetings.has(String(meetingSession)))
      this.wrong.push(`${seq} ${type} ${name}: no such meeting runs`);
    if (type === "meeting.ended" && [...inside].some((one) => one.startsWith(`${name} `)))
      this.wrong.push(`${seq} ${type} ${name}: people are inside`);
  }

  get sums(): Sums {
    const { connections, members, channels, meetings, inside } = this.all;
    return {
      connections: [...connections].sort(),
      members: [...members].sort(),
      channels: [...channels].sort(),
      meetings: [...meetings].sort(),
      inside: [...inside].sort(),
    };
  }
}

type Fields = Readonly<Record<string, unknown>>;
