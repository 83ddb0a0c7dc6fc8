/** The service is killed and started again while clients publish: what `publish()` has accepted is in the history once, in order. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { messagesOf } from "../../client/src/history.ts";
import { type Channel, Parley } from "../../client/src/index.ts";
import { OfflineQueue } from "../../client/src/queue.ts";
import { until } from "../support/wait.ts";
import { hurry } from "./support/hurry.ts";
import { IS_FULL, Service } from "./support/service.ts";

setDefaultTimeout(IS_FULL ? 300_000 : 90_000);

const KILLS = IS_FULL ? 10 : 2;
const PUBLISHERS = 3;

let service: Service;
let unhurry: () => void;
beforeAll(async () => {
  unhurry = hurry(0.02);
  service = await Service.start([{ pattern: "kept/*", history: { messages: 10_000, seconds: 3600 } }]);
});
afterAll(async () => {
  unhurry();
  await service.stop();
});

test(`over ${KILLS} kills of the service, every published message is accepted once`, async () => {
  const tokens = await Promise.all(Array.from({ length: PUBLISHERS + 1 }, (_, at) => service.token(`peer${at}`)));
  const parleys = tokens.map(
    (token) => new Parley({ url: service.url, token: () => token, queue: new OfflineQueue(), transport: "websocket" }),
  );
  const channels = parleys.map((parley) => parley.channel<string>("kept/1"));
  const [reader, ...publishers] = channels as [Channel<string>, ...Channel<string>[]];
  const read: string[] = [];
  const gaps: string[] = [];
  reader.on("message", ({ data }) => read.push(data));
  reader.on("gap", ({ reason }) => gaps.push(reason));
  await reader.subscribed;
  let isOver = false;
  const accepted: string[][] = publishers.map(() => []);
  const publishing = publishers.map(async (channel, at) => {
    for (let number = 1; !isOver; number++) {
      const text = `${at}:${number}`;
      await channel.publish(text);
      accepted[at]?.push(text);
    }
  });
  const enough = async (more: number): Promise<void> => {
    const want = accepted.map((list) => list.length + more);
    await until("messages are accepted", () => accepted.every((list, at) => list.length >= (want[at] ?? 0)));
  };
  await enough(10);
  for (let kill = 0; kill < KILLS; kill++) {
    await service.kill();
    await service.up();
    await enough(10);
  }
  isOver = true;
  await Promise.all(publishing);
  await reader.subscribed;
  const stored: string[] = [];
  for await (const { data } of messagesOf(reader, { limit: 100 })) stored.unshift(data);
  for (const [at, list] of accepted.entries()) expect(stored.filter((text) => text.startsWith(`${at}:`))).toEqual(list);
  await until("the reader has the last message", () => read.length >= stored.length);
  expect(read).toEqual(stored);
  expect(gaps).toEqual([]);
  console.log(`${KILLS} kills, ${stored.length} messages`);
  for (const parley of parleys) parley.close();
});
