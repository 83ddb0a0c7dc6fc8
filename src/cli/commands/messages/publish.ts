/** `parley publish` and `parley send`: one message, or one per line of stdin. */
import type { SendOptions } from "../../../../client/src/index.ts";
import { OfflineQueue } from "../../../../client/src/queue.ts";
import { isMessageId, isPeerId } from "../../../protocol/names.ts";
import type { CommandResult } from "../../line/command.ts";
import { TALK_PEER_ID } from "../../line/defaults.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { escaped, jsonLine, write } from "../../terminal/output.ts";
import { type Line, linesOf, payloadOf } from "./payload.ts";
import { channelName, connect, noteTroubles, type Talk, type Wanted } from "./talk.ts";

/** What the service has answered, for --json. */
type Sent = Readonly<Record<string, unknown>>;
type SendOne = (data: unknown, id?: string) => Promise<Sent>;

export async function publish(input: Input): Promise<CommandResult> {
  const name = channelName(input.operand(0));
  return deliver(input, {
    wanted: { channels: [name], permissions: ["publish"], peerId: TALK_PEER_ID },
    done: (count) => `${count === 1 ? "published" : `${count} messages published`} to ${name}`,
    prepare:
      ({ client }) =>
      async (data, id) => ({
        channel: name,
        published: true,
        ...(await client.channel(name).publish(data, withId(id))),
      }),
  });
}

export async function send(input: Input): Promise<CommandResult> {
  const peerId = input.operand(0);
  if (!isPeerId(peerId)) throw new UsageError(`${JSON.stringify(peerId)} is not a peer id`);
  return deliver(input, {
    wanted: { channels: [], permissions: ["send"], peerId: TALK_PEER_ID },
    done: (count) => `${count === 1 ? "handed" : `${count} messages handed`} to ${peerId}`,
    prepare:
      ({ client }) =>
      async (data, id) => {
        await client.send(peerId, data, withId(id));
        return { peerId, delivered: true, id };
      },
  });
}

const withId = (id: string | undefined): SendOptions => (id === undefined ? {} : { id });

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
  `${duplicate ? "a message with this id was already published: nothing was " : ""}${done}${typeof pos === "string" ? ` at ${pos}` : ""}`;

async function deliverLines(input: Input, { wanted, done, prepare }: Delivery): Promise<CommandResult> {
  if (input.isOn("id")) throw new UsageError("--id is for a single message, but each line of stdin is a separate one");
  // It also keeps the rate that the service allows by default.
  const talk = await connect(input, { ...wanted, queue: new OfflineQueue() });
  noteTroubles(talk);
  const sendOne = prepare(talk);
  let count = 0;
  try {
    const lines = linesOf(Bun.stdin.stream());
    // The end of the connection is reported at once, although the next line may come much later.
    const next = (): Promise<IteratorResult<Line>> => Promise.race([lines.next(), talk.ended]);
    for (let read = await next(); !read.done; read = await next()) {
      const { text, at } = read.value;
      const sent = await atLine(at, count, talk, () => sendOne(payloadOf(text, input.isOn("text"))));
      count++;
      if (input.isOn("json")) await write(Bun.stdout, jsonLine(sent));
    }
  } finally {
    talk.client.close();
  }
  // With --json each message had its line.
  return { value: [], text: `${escaped(done(count))}\n` };
}

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
