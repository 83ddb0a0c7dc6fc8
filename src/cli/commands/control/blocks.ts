/** `parley blocks` and `parley unblock`: the blocked peers of an application, through the control plane. */
import { isPeerId } from "../../../protocol/names.ts";
import { appNamed } from "../../calls/address.ts";
import { controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { fields, table, time } from "../../terminal/output.ts";

interface BlockedPeer {
  readonly peerId: string;
  readonly until: number;
  readonly by?: string;
}

const blocksPath = (input: Input): string => `/apps/${encodeURIComponent(appNamed(input))}/blocks`;

export async function blocks(input: Input): Promise<CommandResult> {
  const { data } = await controlPlane(input).getAll<BlockedPeer>(`${blocksPath(input)}?limit=1000`);
  const isEmpty = data.length === 0;
  return {
    value: data,
    text: isEmpty
      ? ""
      : table(
          ["PEER", "UNTIL", "BY"],
          data.map(({ peerId, until, by }) => [peerId, time(until), by]),
        ),
    notes: isEmpty ? ['No peer is blocked; "parley kick PEER --block 10m" blocks one.'] : [],
  };
}

export async function unblock(input: Input): Promise<CommandResult> {
  const peerId = input.operand(0);
  if (!isPeerId(peerId)) throw new UsageError(`${JSON.stringify(peerId)} is not a peer id`);
  const path = `${blocksPath(input)}/${encodeURIComponent(peerId)}`;
  const done = await controlPlane(input).delete<{ readonly unblocked: boolean }>(path);
  return {
    value: done,
    text: fields({ peer: peerId, unblocked: done.unblocked ? "yes" : "no" }),
    notes: done.unblocked ? [] : ['This peer was not blocked; "parley blocks" lists those that are.'],
  };
}
