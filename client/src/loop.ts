/** `for await (const message of channel)`. Not a generator: that could not be ended while it waits for the next message. */
import type { Emitter } from "./events/emitter.ts";
import { ParleyError } from "./events/errors.ts";
import type { ChannelEvents, Message } from "./events/message.ts";

/** A loop over a channel may fall behind by this many messages. */
const WAITING_MAX = 1000;

const DONE = { value: undefined, done: true } as const;

type Result<T, M> = IteratorResult<Message<T, M>, void>;

export function loopOver<T, M>(
  channel: Emitter<ChannelEvents<T, M>>,
  ended: ParleyError | undefined,
): AsyncIterableIterator<Message<T, M>, void> {
  const waiting: Message<T, M>[] = [];
  let readers: { resolve(result: Result<T, M>): void; reject(error: ParleyError): void }[] = [];
  let failure = ended;
  let isDone = false;
  const stop = [
    channel.on("message", (message) => {
      const reader = readers.shift();
      if (reader) reader.resolve({ value: message, done: false });
      else if (waiting.length < WAITING_MAX) waiting.push(message);
      else fail(new ParleyError("slow_reader", `More than ${WAITING_MAX} messages are waiting for the loop.`));
    }),
    channel.on("error", (error) => fail(error)),
  ];

  const finish = (): void => {
    isDone = true;
    for (const off of stop) off();
    for (const reader of readers) reader.resolve(DONE);
    readers = [];
  };
  /** What came before is still read. */
  const fail = (error: ParleyError): void => {
    failure ??= error;
    for (const off of stop) off();
    const [reader] = readers;
    if (!reader) return;
    readers.shift();
    next().then(reader.resolve, reader.reject);
  };
  const next = (): Promise<Result<T, M>> => {
    const message = waiting.shift();
    if (message && !isDone) return Promise.resolve({ value: message, done: false });
    if (!isDone && !failure) return new Promise((resolve, reject) => readers.push({ resolve, reject }));
    const error = isDone || failure?.code === "closed" ? undefined : failure;
    finish();
    return error ? Promise.reject(error) : Promise.resolve(DONE);
  };
  const end = (): Promise<Result<T, M>> => {
    finish();
    return Promise.resolve(DONE);
  };
  const loop = { next, return: end, [Symbol.asyncIterator]: () => loop };
  return loop as AsyncIterableIterator<Message<T, M>, void>;
}
