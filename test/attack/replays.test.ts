/** Many clients that ask for all of the history of many channels, and do not read it, delay each other and not the rest. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ownWorldForTests } from "../conformance/raw/support/world.ts";
import { AckTimes } from "../support/ack-times.ts";
import { IS_FULL } from "../support/slack.ts";
import { encodeFrame, OPCODE } from "../support/wire/frames.ts";

/** The pace of the client that comes back again and again. */
const RECOVERY_EVERY_MS = 10;

setDefaultTimeout(60_000);

const CLIENTS = 300;
const CHANNELS = 30;
const MESSAGES = 1000;
/** Subscribes that all arrive in one turn take some of it; without a bound, their replays took seconds. */
const ACK_MAX_MS = IS_FULL ? 200 : 1000;
/** A client that comes back takes turns with them. */
const RECOVERY_MAX_MS = IS_FULL ? 1000 : 5000;
const STORM_MS = 3000;

const world = await ownWorldForTests({
  env: { PARLEY_FRAMES_PER_SECOND: "0", PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" },
});
const { admin, app, server } = world;
const RULES = { channelRules: [{ pattern: "kept/**", history: { messages: 10_000, seconds: 3600 } }] };
await admin.must("PATCH", `/apps/${app._id}`, RULES);
afterAll(() => world.hangUp());

/** How long the node's event loop has run: what other processes take of the machine does not count. */
const nodeMs = (): number =>
  Number(readFileSync(`/proc/${server.pid}/task/${server.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;

const text = (frame: object): Buffer => encodeFrame(OPCODE.text, Buffer.from(JSON.stringify(frame)));
const channels = Array.from({ length: CHANNELS }, (_, at) => `kept/${at}`);

test("300 clients that ask for 30 full replays each and do not read: other clients' acks and recoveries come in time", async () => {
  const { wire: writer } = await world.quiet();
  for (const channel of channels) {
    const data = "x".repeat(50);
    writer.raw(Buffer.concat(Array.from({ length: MESSAGES - 1 }, () => text({ type: "publish", channel, data }))));
    expect(await writer.request({ type: "publish", channel, data })).toMatchObject({ type: "ack" });
  }
  // The messages are in memory from here on.
  const { wire: reader } = await world.quiet();
  for (const channel of channels) await reader.request({ type: "subscribe", channel, rewind: MESSAGES });
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => world.quiet()));
  const { wire: publisher } = await world.quiet();
  const { wire: returning } = await world.quiet();
  const storm = Buffer.concat(channels.map((channel) => text({ type: "subscribe", channel, rewind: MESSAGES })));

  const acks = new AckTimes(publisher, "kept/other", nodeMs);
  const beganMs = performance.now();
  // While the node is stopped, so that all of it arrives at once.
  server.signal("SIGSTOP");
  for (const { wire } of clients) {
    wire.stopReading();
    wire.raw(storm);
  }
  server.signal("SIGCONT");
  let longestRecoveryMs = 0;
  while (performance.now() - beganMs < STORM_MS) {
    const askedMs = nodeMs();
    expect(await returning.request({ type: "subscribe", channel: "kept/0", rewind: 5 })).toMatchObject({ replay: 5 });
    longestRecoveryMs = Math.max(longestRecoveryMs, nodeMs() - askedMs);
    expect(await returning.request({ type: "unsubscribe", channel: "kept/0" })).toMatchObject({ type: "ack" });
    await Bun.sleep(RECOVERY_EVERY_MS);
  }
  const { longestMs, errors } = await acks.stop();
  expect(errors).toEqual([]);
  expect(longestMs).toBeLessThan(ACK_MAX_MS);
  expect(longestRecoveryMs).toBeLessThan(RECOVERY_MAX_MS);
});
