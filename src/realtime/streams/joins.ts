/**
 * A message that is read from the store may be here before the join of its sender, which is on its way from another node. It waits
 * for that join, so that no receiver gets a message of a member that it was not shown (protocol 4).
 */
import type { Engine, RemoteMembers } from "../../engine/engine.ts";
import type { StoredMessage } from "../../history/history.ts";
import type { Clock } from "../clock.ts";
import { JOIN_WAIT_MS } from "./limits.ts";
import type { Stream } from "./stream.ts";

const CHECK_EVERY_MS = 10;

export class Joins {
  constructor(private readonly parts: { readonly engine: Engine; readonly clock: Clock }) {}

  /** Resolves when the senders that are members on other nodes are members here too, at the latest after JOIN_WAIT_MS. */
  async of({ channel }: Stream, messages: readonly StoredMessage[]): Promise<void> {
    const unknown = new Set<string>();
    for (const { from, connection } of messages)
      if (connection !== undefined && !channel.members.has(from)) unknown.add(from);
    if (unknown.size === 0) return;
    const { engine, clock } = this.parts;
    const untilMs = clock.monotonicMs() + JOIN_WAIT_MS;
    const elsewhere = await engine.members(channel.space.app, channel.name);
    const expected = elsewhere ? membersAmong(unknown, elsewhere) : unknown;
    while (clock.monotonicMs() < untilMs && [...expected].some((from) => !channel.members.has(from)))
      await new Promise<void>((resolve) => clock.after(CHECK_EVERY_MS, resolve));
  }
}

function membersAmong(peerIds: ReadonlySet<string>, members: RemoteMembers): Set<string> {
  const found = new Set<string>();
  for (const some of members.values()) for (const { peerId } of some) if (peerIds.has(peerId)) found.add(peerId);
  return found;
}
