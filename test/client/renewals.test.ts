/**
 * Tokens that last a few seconds are renewed on the open connection: no reconnect, no gap, and nothing for the others to see.
 * PARLEY_TEST_FULL=1: two hundred renewals.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Parley } from "../../client/src/index.ts";
import { until } from "../support/wait.ts";
import { IS_FULL, Service } from "./support/service.ts";

setDefaultTimeout(IS_FULL ? 300_000 : 60_000);

const TOKEN_SECONDS = 4;
const CLIENTS = IS_FULL ? 20 : 4;
const RENEWALS = IS_FULL ? 10 : 2;

let service: Service;
beforeAll(async () => {
  service = await Service.start([{ pattern: "kept/*", history: { messages: 1000, seconds: 3600 } }]);
});
afterAll(() => service.stop());

test(`${CLIENTS * RENEWALS} renewals without a reconnect, a gap or a change of presence`, async () => {
  const watcher = new Parley({ url: service.url, key: service.publishableKey });
  const seen: string[] = [];
  const room = watcher.channel("kept/room");
  room.presence.on("joined", ({ peerId }) => seen.push(`+${peerId}`));
  room.presence.on("left", ({ peerId }) => seen.push(`-${peerId}`));
  let changes = 0;
  room.presence.on("changed", () => changes++);
  await room.subscribed;
  const clients = Array.from({ length: CLIENTS }, (_, at) => {
    const reasons: string[] = [];
    const events: string[] = [];
    const parley = new Parley({
      url: service.url,
      token: ({ reason }) => {
        reasons.push(reason);
        return service.token(`peer${at}`, TOKEN_SECONDS);
      },
    });
    parley.on("status", ({ state }) => events.push(state));
    parley.on("error", ({ code }) => events.push(code));
    const numbers: unknown[] = [];
    const channel = parley.channel("kept/room");
    channel.on("message", ({ data }) => numbers.push(data));
    channel.on("gap", ({ reason }) => events.push(reason));
    return { parley, channel, reasons, events, numbers };
  });
  await Promise.all(clients.map(({ channel }) => channel.subscribed));
  await until("the watcher sees everyone", () => room.presence.members.length === CLIENTS);
  const before = changes;
  let last = 0;
  await until(
    "all tokens are renewed",
    async () => {
      await room.publish(++last);
      return clients.every(({ reasons }) => reasons.filter((reason) => reason === "renew").length >= RENEWALS);
    },
    RENEWALS * TOKEN_SECONDS * 1000 + 30_000,
  );
  await until("everyone has the last message", () => clients.every(({ numbers }) => numbers.at(-1) === last));
  for (const { reasons, events, numbers } of clients) {
    expect(new Set(reasons.slice(1))).toEqual(new Set(["renew"]));
    expect(reasons[0]).toBe("connect");
    expect(events).toEqual(["connected"]);
    expect(numbers).toEqual(Array.from({ length: last }, (_, at) => at + 1));
  }
  expect(changes).toBe(before);
  expect(seen).toHaveLength(CLIENTS);
  for (const { parley } of clients) parley.close();
  watcher.close();
});
