/** For tests of created streams: writes, creations, and what is in a stream. */
import { streamSpaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type {
  CreatedStream,
  CreatedStreamStore,
  Creating,
  Creation,
  Producer,
  Write,
  Written,
} from "../contract/created-streams.ts";
import type { NewMessage } from "../contract/history.ts";
import { randomBase36 } from "../contract/random.ts";
import { ALL, message, texts } from "./kit.ts";

export const SPACE = streamSpaceOf(anAppId("app"));
export const NAME = { spaceId: SPACE, channel: "channel" };
export const LIMITS = { streamBytes: 1_000_000, appBytes: 5_000_000, streams: 20 };

export const messagesFor = (data: readonly string[], change: Partial<NewMessage> = {}): readonly NewMessage[] =>
  data.map((text) => message({ spaceId: SPACE, dataJson: JSON.stringify(text), from: "server", ...change }));

export function creation(change: Partial<Creation> = {}, data: readonly string[] = []): Creation {
  const channel = change.channel ?? NAME.channel;
  return {
    ...NAME,
    contentType: "application/json",
    ttlSeconds: undefined,
    expiresAtMs: undefined,
    idleSeconds: 86_400,
    isClosed: false,
    check: randomBase36(),
    messages: messagesFor(data, { channel }),
    fork: undefined,
    limits: LIMITS,
    ...change,
  };
}

export async function created(
  store: CreatedStreamStore,
  change: Partial<Creation> = {},
  data: readonly string[] = [],
): Promise<CreatedStream> {
  const result = await store.create(creation(change, data));
  if (result.outcome !== "created") throw new Error(`not created: ${result.outcome}`);
  return result.stream;
}

export function writeOf(data: readonly string[], change: Partial<Write> = {}): Write {
  const { channel = NAME.channel, spaceId = SPACE } = change;
  return {
    spaceId,
    channel,
    keep: undefined,
    contentType: "application/json",
    messages: messagesFor(data, { channel, spaceId }),
    isMalformed: false,
    closes: false,
    seq: undefined,
    producer: undefined,
    limits: LIMITS,
    ...change,
  };
}

const WRITER = randomBase36();

export const batchOfWrites = (...writes: readonly Write[]) => ({ writer: WRITER, check: randomBase36(), writes });

export async function write(
  store: CreatedStreamStore,
  data: readonly string[],
  change: Partial<Write> = {},
): Promise<Written> {
  const [result] = await store.write(batchOfWrites(writeOf(data, change)));
  if (!result) throw new Error("no result");
  return result;
}

export const producer = (epoch: number, seq: number, change: Partial<Producer> = {}): Producer => ({
  owner: "key",
  id: "p",
  epoch,
  seq,
  ...change,
});

export async function textsIn(store: CreatedStreamStore, channel = NAME.channel): Promise<readonly string[] | string> {
  const found = await store.read({ spaceId: SPACE, channel }, ALL);
  return found && found !== "gone" ? texts(found.page.messages) : (found ?? "not found");
}

export const outcomes = (results: readonly (Written | Creating)[]): readonly string[] =>
  results.map(({ outcome }) => outcome);
