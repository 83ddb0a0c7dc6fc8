/** Who may not read or delete a history: other applications, keys and tokens without the action or the channel, forged positions. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { worldForTests } from "../conformance/raw/support/world.ts";
import { call, type Json } from "../support/http.ts";
import type { Wire } from "../support/wire/wire.ts";

setDefaultTimeout(60_000);

const CHANNEL = "chat/1";
const SECRET = "for readers of this application only";
const RULES = { channelRules: [{ pattern: "chat/**", history: { messages: 100, seconds: 3600 } }] };

const world = await worldForTests();
const { admin, app } = world;
await admin.must("PATCH", `/apps/${app._id}`, RULES);
const other = await admin.createApp();
await admin.must("PATCH", `/apps/${other.name}`, RULES);

const { wire: writer } = await world.guest({ sub: "writer" });
const first = await ask(writer, { type: "publish", channel: CHANNEL, data: "first" });
await ask(writer, { type: "publish", channel: CHANNEL, data: SECRET });

async function ask(wire: Wire, frame: object): Promise<Json> {
  return (await wire.request(frame)) as unknown as Json;
}

const overRest = (credential: string, method: "GET" | "DELETE"): Promise<{ status: number; text: string }> =>
  call(`${world.url}/v1/channels/chat%2F1/history`, { method, bearer: credential });

/** All frames that could show a stored message. */
const attempts = (position: unknown): readonly Json[] => [
  { type: "history", channel: CHANNEL },
  { type: "history", channel: CHANNEL, after: position },
  { type: "subscribe", channel: CHANNEL, recover: position },
  { type: "unsubscribe", channel: CHANNEL },
  { type: "subscribe", channel: CHANNEL, rewind: 100 },
];

/** The text of everything that the attempts bring. */
async function seenBy(wire: Wire): Promise<string> {
  const answers: Json[] = [];
  for (const frame of attempts(first.pos)) answers.push(await ask(wire, frame));
  return JSON.stringify([answers, await wire.sync()]);
}

test("a peer that may read sees it: the attempts below would succeed", async () => {
  const { wire } = await world.guest();
  expect(await seenBy(wire)).toContain(SECRET);
});

test("the same channel of another application is another one", async () => {
  const key = await admin.createKey(other.name);
  const { wire } = await world.guest({ sub: "writer" }, {}, key);
  const seen = await seenBy(wire);
  expect(seen).not.toContain(SECRET);
  expect(seen).toContain('"recovered":false');
  expect((await overRest(key.credential, "GET")).text).not.toContain(SECRET);
  await overRest(key.credential, "DELETE");
  const { wire: reader } = await world.guest();
  expect(await seenBy(reader)).toContain(SECRET);
});

test.each([
  ["without the action subscribe", { permissions: ["publish", "send", "presence"] }],
  ["for other channels", { channels: ["chat/2", "news/*"] }],
])("a token %s", async (_, claims) => {
  const { wire } = await world.guest(claims);
  expect(await seenBy(wire)).not.toContain(SECRET);
});

test("a key that was narrowed while its peer is connected", async () => {
  const key = await admin.createKey(app.name);
  const { wire } = await world.guest({}, {}, key);
  await admin.patchKey(key.keyId, { channelPatterns: ["news/*"] });
  expect(await seenBy(wire)).not.toContain(SECRET);
  expect((await overRest(key.credential, "GET")).status).toBe(403);
});

test("reading over REST needs the action subscribe, deleting needs publish", async () => {
  const reads = await admin.createKey(app.name, { actions: ["subscribe"] });
  const writes = await admin.createKey(app.name, { actions: ["publish"] });
  expect([
    (await overRest(reads.credential, "DELETE")).status,
    (await overRest(writes.credential, "GET")).status,
  ]).toEqual([403, 403]);
  expect((await overRest(reads.credential, "GET")).text).toContain(SECRET);
});

test("the connection of another peer hides its messages only from the one who names it", async () => {
  const { wire, welcome } = await world.guest({ sub: "author" });
  await ask(wire, { type: "publish", channel: CHANNEL, data: "of the author" });
  const { connection } = welcome as unknown as Json;
  const recover = { type: "subscribe", channel: CHANNEL, recover: first.pos };
  const { wire: hiding } = await world.guest();
  const { wire: plain } = await world.guest();
  expect((await ask(hiding, { ...recover, connection })).replay).toBe(1);
  expect((await ask(plain, recover)).replay).toBe(2);
});
