/**
 * An application that lives through a day in a few minutes: `node --expose-gc day.mjs URL CREDENTIAL SECONDS`. It visits channels, publishes,
 * sends, listens to members who come and go, renews its token, and reconnects whenever its network is cut. Prints a line of JSON at ten points:
 * the heap after a collection, and what it has done until then.
 */
import { history } from "parley-client/history";
import { Parley } from "parley-client/node";
import { OfflineQueue } from "parley-client/queue";
import { stateOf } from "parley-client/state";

/** What ends in this time can be collected. */
const BEFORE_COLLECTION_MS = 50;

const [url, address, credential, seconds] = process.argv.slice(2);
const POINTS = 10;
const TOKEN_SECONDS = 9;
const isBun = "Bun" in globalThis;
// A client comes back after a random part of a time that grows: here after the beginning of it.
const { random } = Math;
Math.random = () => random() * 0.002;

const done = {
  connects: 0,
  renewals: 0,
  visits: 0,
  published: 0,
  sent: 0,
  messages: 0,
  joined: 0,
  left: 0,
  states: 0,
  failed: 0,
  unhandled: 0,
};
process.on("unhandledRejection", () => done.unhandled++);

async function token({ reason }) {
  if (reason === "renew") done.renewals++;
  const body = JSON.stringify({ peerId: "subject", expiresInSec: TOKEN_SECONDS });
  const response = await fetch(`${address}/v1/tokens`, {
    method: "POST",
    body,
    headers: { Authorization: `Bearer ${credential}` },
  });
  return (await response.json()).token;
}

const parley = new Parley({ url, token, queue: new OfflineQueue({ messages: 200, ttl: 2000 }) });
parley.on("welcome", () => done.connects++);
const main = parley.channel("kept/main");
main.on("message", () => done.messages++);
main.presence.on("joined", () => done.joined++);
main.presence.on("left", () => done.left++);
const states = stateOf(main);
states.on("changed", () => done.states++);

/** What fails because the network was cut is not tried again: an application may do that, or not. */
async function attempt(work) {
  try {
    await work;
  } catch {
    done.failed++;
  }
}

const within = (work, ms) => Promise.race([work, new Promise((resolve) => setTimeout(resolve, ms))]);

/** A channel that is visited once: with a listener, a loop, members, a state, options. */
async function visit(number) {
  const channel = parley.channel(
    `${number % 2 ? "kept" : "bare"}/visit-${number}`,
    number % 3 ? undefined : { rewind: 5 },
  );
  const ends = [channel.on("message", () => done.messages++), channel.presence.on("changed", () => undefined)];
  const loop = channel[Symbol.asyncIterator]();
  const next = loop.next();
  await within(attempt(channel.subscribed), 500);
  await within(attempt(channel.publish({ number }, { id: `visit-${number}` })), 500);
  if (number % 5 === 0) await within(attempt(stateOf(channel).set({ number })), 500);
  if (number % 25 === 0) await within(attempt(history(channel, { limit: 5 })), 500);
  stateOf(channel).close();
  await loop.return();
  await next;
  for (const end of ends) end();
  done.visits++;
}

async function live(untilMs) {
  for (let number = done.visits; performance.now() < untilMs; number++) {
    await Promise.all([
      visit(number),
      attempt(main.publish({ text: "hello", number })).then(() => done.published++),
      attempt(parley.send("crowd", { number }, { id: `send-${number}` })).then(() => done.sent++),
      within(attempt(states.set({ typing: number % 2 === 0 })), 500),
    ]);
  }
}

async function collected() {
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, BEFORE_COLLECTION_MS));
    if (isBun) Bun.gc(true);
    else globalThis.gc();
  }
  if (!isBun) return process.memoryUsage().heapUsed;
  const { heapStats } = await import("bun:jsc");
  return heapStats().heapSize;
}

/** How many objects of some kinds there are: only a leak makes more and more of them. Node would stand still for seconds to count them. */
async function counted() {
  if (!isBun) return {};
  const { objectTypeCounts } = (await import("bun:jsc")).heapStats();
  return Object.fromEntries(["Map", "Set", "Array", "WeakRef"].map((name) => [name, objectTypeCounts[name] ?? 0]));
}

const timers = () => process.getActiveResourcesInfo?.().filter((name) => name === "Timeout").length ?? 0;

const beganMs = performance.now();
for (let point = 1; point <= POINTS; point++) {
  await live(beganMs + (point * Number(seconds) * 1000) / POINTS);
  console.log(
    JSON.stringify({
      heap: await collected(),
      objects: await counted(),
      timers: timers(),
      members: main.presence.members.length,
      ...done,
    }),
  );
}
parley.close();
