/** `parley channels`, `peers`, `kick` and `usage`: what a backend sees and does over REST. */
import { isPeerId } from "../../../protocol/names.ts";
import { backendApi, type Server } from "../../calls/client.ts";
import { restApp, restCredential } from "../../calls/talk-credential.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { fields, table, time } from "../../terminal/output.ts";
import { channelName } from "./talk.ts";

const BLOCK_MAX_SECONDS = 86_400;

const api = async (input: Input): Promise<Server> => backendApi(input, await restCredential(input));

interface ActiveChannel {
  readonly channel: string;
  readonly peers: number;
  readonly connections: number;
}

export async function channels(input: Input): Promise<CommandResult> {
  const query = new URLSearchParams({ limit: "1000" });
  const prefix = input.text("prefix");
  if (prefix !== undefined) query.set("prefix", prefix);
  const { data } = await (await api(input)).getAll<ActiveChannel>(`/channels?${query}`);
  return {
    value: data,
    text:
      data.length === 0
        ? ""
        : table(
            ["CHANNEL", "PEERS", "CONNECTIONS"],
            data.map(({ channel, peers, connections }) => [channel, peers, connections]),
          ),
    notes: data.length === 0 ? ["No channel has subscribers."] : [],
  };
}

interface Peer {
  readonly peerId: string;
  readonly metadata?: object;
  readonly state?: object;
}

export async function peers(input: Input): Promise<CommandResult> {
  const channel = channelName(input.operand(0));
  const found = await (await api(input)).get<{ peers: Peer[] }>(`/channels/${encodeURIComponent(channel)}/peers`);
  const json = (value: object | undefined): string | undefined => value && JSON.stringify(value);
  const isEmpty = found.peers.length === 0;
  return {
    value: found.peers.map((peer) => ({ channel, ...peer })),
    text: isEmpty
      ? ""
      : table(
          ["PEER", { prose: "METADATA" }, { prose: "STATE" }],
          found.peers.map(({ peerId, metadata, state }) => [peerId, json(metadata), json(state)]),
        ),
    notes: isEmpty ? [`${channel} has no members.`] : [],
  };
}

export async function kick(input: Input): Promise<CommandResult> {
  const peerId = input.operand(0);
  if (!isPeerId(peerId)) throw new UsageError(`${JSON.stringify(peerId)} is not a peer id`);
  const blockedSec = input.seconds("block") ?? 0;
  if (blockedSec > BLOCK_MAX_SECONDS) throw new UsageError("--block must be at most 86400 seconds (24h)");
  const path = `/peers/${encodeURIComponent(peerId)}?blockSec=${blockedSec}`;
  const { closed } = await (await api(input)).delete<{ closed: number }>(path);
  const connections = closed === 1 ? "1 connection" : `${closed} connections`;
  return {
    value: { peerId, closed, blockedSec },
    text: fields({ peer: peerId, closed: connections, blocked: blockedSec === 0 ? "no" : `for ${blockedSec} s` }),
    notes: kickNotes(closed, blockedSec),
  };
}

/** That no connection was found is no failure: the peer is gone, which is what a kick is for. */
function kickNotes(closed: number, blockedSec: number): string[] {
  if (closed === 0) return ['This peer is not connected; "parley peers CHANNEL" lists who is in a channel.'];
  return blockedSec === 0 ? ["It can reconnect at once; use --block to refuse it for a while."] : [];
}

interface Usage {
  readonly appId: string;
  readonly periodStartUnix: number;
  readonly periodEndUnix: number;
  readonly concurrentNow: number;
  readonly peakConcurrent: number;
  readonly messagesUsed: number;
  readonly plan: {
    readonly name: string;
    readonly maxConcurrentConnections: number | null;
    readonly maxMessagesPerPeriod: number | null;
  };
}

export async function usage(input: Input): Promise<CommandResult> {
  const found = await (await api(input)).get<Usage>("/usage");
  const of = (limit: number | null): string => (limit === null ? "unlimited" : `of ${limit}`);
  const { plan } = found;
  return {
    value: found,
    text: fields({
      app: restApp(input) ?? found.appId,
      plan: plan.name,
      period: `${time(found.periodStartUnix)} to ${time(found.periodEndUnix)}`,
      messages: `${found.messagesUsed}, ${of(plan.maxMessagesPerPeriod)}`,
      connections: `${found.concurrentNow} now, ${found.peakConcurrent} at most, ${of(plan.maxConcurrentConnections)}`,
    }),
  };
}
