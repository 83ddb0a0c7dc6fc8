/** `parley streams`: the streams of an application, through the control plane. */
import { duration } from "../../../base/duration.ts";
import { humanBytes } from "../../../base/human-bytes.ts";
import { appNamed } from "../../calls/address.ts";
import { controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { fields, table, time } from "../../terminal/output.ts";
import { channelName } from "../messages/talk.ts";

interface Described {
  readonly channel: string;
  readonly contentType: string;
  readonly created: number;
  readonly closed: boolean;
  readonly messages: number;
  readonly bytes: number;
  readonly pos: string;
  readonly ttlSec?: number;
  readonly expiresAt?: number;
  readonly endsAt: number;
}

interface ListedStream extends Described {
  readonly producers: number;
}

interface StreamDetails extends Described {
  readonly maxBytes: number;
  readonly idleSec: number;
  readonly producers: readonly {
    readonly keyId?: string;
    readonly peerId?: string;
    readonly id: string;
    readonly epoch: number;
    readonly seq: number;
    readonly used: number;
  }[];
  readonly readers: number;
  readonly subscribers: number;
  readonly isComplete: boolean;
}

/** The most that a call answers at once. */
const PAGE = 200;

const streamsPath = (input: Input): string => `/apps/${encodeURIComponent(appNamed(input))}/streams`;
const streamPath = (input: Input): string =>
  `${streamsPath(input)}/${encodeURIComponent(channelName(input.operand(0)))}`;

const stateOf = ({ closed }: Described): string => (closed ? "closed" : "open");

export async function list(input: Input): Promise<CommandResult> {
  const query = new URLSearchParams({ limit: String(PAGE) });
  const contains = input.text("contains");
  if (contains !== undefined) query.set("contains", contains);
  const { data } = await controlPlane(input).getAll<ListedStream>(`${streamsPath(input)}?${query}`);
  const rows = data.map((one) => [
    one.channel,
    stateOf(one),
    one.contentType,
    one.messages,
    humanBytes(one.bytes),
    time(one.created),
    time(one.endsAt),
  ]);
  const none = contains === undefined ? `${appNamed(input)} has no streams.` : "No stream has that in its name.";
  return {
    value: data,
    text: data.length === 0 ? "" : table(["STREAM", "STATE", "TYPE", "MESSAGES", "BYTES", "CREATED", "EXPIRES"], rows),
    notes: data.length === 0 ? [none] : [],
  };
}

export async function show(input: Input): Promise<CommandResult> {
  const found = await controlPlane(input).get<StreamDetails>(streamPath(input));
  const { ttlSec, expiresAt, idleSec, producers, isComplete } = found;
  const fixed = expiresAt === undefined ? "" : `, at ${time(expiresAt)} however it is used`;
  const text = fields({
    stream: found.channel,
    state: stateOf(found),
    "content type": found.contentType,
    created: time(found.created),
    messages: found.messages,
    bytes: `${humanBytes(found.bytes)} of ${humanBytes(found.maxBytes)}`,
    position: found.pos,
    expires: `${time(found.endsAt)}, unless it is used`,
    kept: `${duration(Math.min(ttlSec ?? idleSec, idleSec) * 1000)} after its last use${fixed}`,
    readers: found.readers,
    subscribers: found.subscribers,
  });
  const rows = producers.map(({ keyId, peerId, id, epoch, seq, used }) => [id, keyId, peerId, epoch, seq, time(used)]);
  const listed =
    rows.length === 0 ? "" : `\n${table(["PRODUCER", "KEY", "PEER", "EPOCH", "LAST WRITE", "USED"], rows)}`;
  return {
    value: found,
    text: `${text}${listed}`,
    notes: isComplete ? [] : ["A node has not responded: its readers and subscribers are missing."],
  };
}

export async function remove(input: Input): Promise<CommandResult> {
  const server = controlPlane(input);
  const path = streamPath(input);
  await confirm(input, `delete the stream ${input.operand(0)} with its messages`, () => server.get(path));
  const done = await server.delete<{ readonly channel: string }>(path);
  return { value: done, text: fields({ stream: done.channel, deleted: "yes" }) };
}
