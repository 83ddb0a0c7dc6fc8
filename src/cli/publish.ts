/** `parley publish` and `parley send`: one message, or one per line of stdin. */
import { type Channel, ParleyError, type Published } from "../../client/src/index.ts";
import { OfflineQueue } from "../../client/src/queue.ts";
import { isMessageId, isPeerId } from "../protocol/names.ts";
import type { CommandResult } from "./command.ts";
import { TALK_DEFAULTS } from "./defaults.ts";
import { Failure, UsageError } from "./errors.ts";
import type { Input } from "./input.ts";
import { escaped, jsonLine, write } from "./output.ts";
import { Pace } from "./pace.ts";
import { linesOf, payloadOf } from "./payload.ts";
import { channelName, connect, noteOutages, type Talk, type Wanted } from "./talk.ts";

/** What the service has answered, for --json. */
type Sent = Readonly<Record<string, unknown>>;
type SendOne = (data: unknown, id?: string) => Promise<Sent>;

export async function publish(input: Input): Promise<CommandResult> {
  const name = channelName(input.operand(0));
  return deliver(input, {
    wanted: { channels: [name], permissions: ["publish"], peerId: TALK_DEFAULTS.peerId },
    done: (count) => `${count === 1 ? "published" : `${count} messages published`} to ${name}`,
    prepare: ({ client }) => publishTo(client.channel(name)),
  });
}

export async function send(input: Input): Promise<CommandResult> {
  const peerId = input.operand(0);
  if (!isPeerId(peerId)) throw new UsageError(`${JSON.stringify(peerId)} is not a peer id`);
  return deliver(input, {
    wanted: { channels: [], permissions: ["send"], peerId: TALK_DEFAULTS.peerId },
    done: (count) => `${count === 1 ? "handed" : `${count} messages handed`} to ${peerId}`,
    prepare:
      ({ client }) =>
      async (data, id) => {
        await client.send(peerId, data, id === undefined ? {} : { id });
        return { peerId, delivered: true, ...(id !== undefined && { id }) };
      },
  });
}

/** A message whose answer was lost is repeated where the service recognises its id: on channels with history. */
function publishTo(channel: Channel): SendOne {
  let hasHistory = false;
  return async (data, id) => {
    const options = id === undefined ? {} : { id };
    let published: Published;
    try {
      published = await channel.publish(data, options);
    } catch (error) {
      if (!hasHistory || !(error instanceof ParleyError) || error.code !== "connection_lost") throw error;
      published = await channel.publish(data, options);
    }
    hasHistory = published.pos !== undefined;
    return { channel: channel.name, published: true, ...published };
  };
}

interface Delivery {
  readonly wanted: Wanted;
  readonly done: (count: number) => string;
  readonly prepare: (talk: Talk) => SendOne;
}

async function deliver(input: Input, delivery: Delivery): Promise<CommandResult> {
  const id = input.text("id");
  if (id !== undefined && !isMessageId(id)) throw new UsageError("--id must be 1 to 64 printable ASCII characters");
  if (input.operand(1) === "-") return deliverLines(input, delivery);
  const data = payloadOf(input.operand(1), input.isOn("text"));
  const talk = await connect(input, delivery.wanted);
  try {
    const sent = await delivery.prepare(talk)(data, id);
    return { value: sent, text: `${escaped(describe(delivery.done(1), sent))}\n` };
  } catch (error) {
    throw talk.failure(error);
  } finally {
    talk.client.close();
  }
}

const describe = (done: string, { pos, duplicate }: Sent): string =>
  `${duplicate ? "a message with this id was published before: nothing was " : ""}${done}${typeof pos === "string" ? ` at ${pos}` : ""}`;

async function deliverLines(input: Input, { wanted, done, prepare }: Delivery): Promise<CommandResult> {
  if (input.isOn("id")) throw new UsageError("--id is for one message: each line of stdin is one of its own");
  const rate = input.whole("rate") ?? TALK_DEFAULTS.messagesPerSecond;
  if (rate < 1) throw new UsageError("--rate must be at least 1");
  const talk = await connect(input, { ...wanted, queue: new OfflineQueue() });
  noteOutages(talk);
  const sendOne = prepare(talk);
  const pace = new Pace(rate, TALK_DEFAULTS.burst);
  let count = 0;
  try {
    for await (const { text, at } of linesOf(Bun.stdin.stream())) {
      await pace.next();
      const sent = await atLine(at, count, talk, () => sendOne(payloadOf(text, input.isOn("text")), randomId()));
      count++;
      if (input.isOn("json")) await write(Bun.stdout, jsonLine(sent));
    }
  } finally {
    talk.client.close();
  }
  return { value: {}, lines: [], text: "", notes: [`${done(count)}.`] };
}

const randomId = (): string => crypto.randomUUID();

/** An error that names the line. The lines behind it are not sent, so that nothing is out of order. */
async function atLine<T>(at: number, count: number, talk: Talk, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const known = talk.failure(error);
    const where = `line ${at}, after ${count} messages: `;
    if (known instanceof UsageError) throw new UsageError(where + known.message);
    if (known instanceof Failure) throw new Failure(known.code, where + known.message);
    throw known;
  }
}
