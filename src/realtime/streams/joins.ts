/**
 * A message that is read from the store may be here before the join of its sender, which is on its way from another node. It waits
 * for that join, so that no receiver gets a message of a member that it was not shown (protocol 4).
 */
import type { Clock } from "../../base/clock.ts";
import type { Engine, RemoteMembers } from "../../engine/engine.ts";
import type { StoredMessage } from "../../history/contract/history.ts";
import type { Stream } from "../state/stream.ts";
import { AWAITED_MAX_SENDERS, AWAITED_MS, JOIN_WAIT_MS } from "./limits.ts";

const CHECK_EVERY_MS = 10;

export class Joins {
  /**
   * `keyOf` → monotonic ms at which a wait for that join ended. While the other nodes cannot be reached, a wait
   * per read would make this node fall behind. Bound: AWAITED_MAX_SENDERS.
   */
  private readonly awaited = new Map<string, number>();

  constructor(private readonly parts: { readonly engine: Engine; readonly clock: Clock }) {}

  /** Resolves when the senders that are members on other nodes are members here too, at the latest after JOIN_WAIT_MS. */
  async of(stream: Stream, messages: readonly StoredMessage[]): Promise<void> {
    const { channel } = stream;
    const unknown = new Set<string>();
    for (const { from, connection } of messages)
      if (connection !== undefined && !channel.members.has(from) && !this.wasAwaited(stream, from)) unknown.add(from);
    if (unknown.size === 0) return;
    const { engine, clock } = this.parts;
    const untilMs = clock.monotonicMs() + JOIN_WAIT_MS;
    const elsewhere = await engine.members(channel.space.id, channel.name);
    const expected = elsewhere ? membersAmong(unknown, elsewhere) : unknown;
    while (clock.monotonicMs() < untilMs && [...expected].some((from) => !channel.members.has(from)))
      await new Promise<void>((resolve) => clock.after(CHECK_EVERY_MS, resolve));
    this.note(stream, unknown);
  }

  private wasAwaited(stream: Stream, from: string): boolean {
    const endedMs = this.awaited.get(keyOf(stream, from));
    return endedMs !== undefined && this.parts.clock.monotonicMs() - endedMs < AWAITED_MS;
  }

  private note(stream: Stream, senders: ReadonlySet<string>): void {
    if (this.awaited.size + senders.size > AWAITED_MAX_SENDERS) this.awaited.clear();
    const nowMs = this.parts.clock.monotonicMs();
    for (const from of senders) this.awaited.set(keyOf(stream, from), nowMs);
  }
}

/** Names of channels and of peers may contain any separator: the length tells where the first one ends. */
const keyOf = ({ channel: { space, name } }: Stream, from: string): string =>
  `${space.id} ${name.length} ${name}${from}`;

function membersAmong(peerIds: ReadonlySet<string>, members: RemoteMembers): Set<string> {
  const found = new Set<string>();
  for (const some of members.values()) for (const { peerId } of some) if (peerIds.has(peerId)) found.add(peerId);
  return found;
}
