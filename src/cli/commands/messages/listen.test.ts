/** `parley listen`, as processes, against a running server. */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { until } from "../../../../test/support/wait.ts";
import { shell, startServer, withServer } from "../../testing/kit.ts";
import { Running } from "../../testing/running.ts";
import { ListenText } from "./listen-lines.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const running: Running[] = [];
afterEach(() => Promise.all(running.splice(0).map((one) => one.stop("SIGKILL"))));

const start = (env: Readonly<Record<string, string>>, args: readonly string[]): Running => {
  const one = new Running(args, env);
  running.push(one);
  return one;
};

/** Resolves when all its subscriptions are acked: with --json nothing says so. */
async function listen(...args: string[]): Promise<Running> {
  const one = start(cli.server.env, ["listen", ...args]);
  if (!args.includes("--json")) await one.has("stderr", "press Ctrl-C to stop");
  else for (const name of args.filter((arg) => arg.startsWith("l/"))) await subscribed(name);
  return one;
}

async function subscribed(channel: string): Promise<void> {
  await until("the channel is listed", async () =>
    (await cli.run(`channels --prefix ${channel} --json`)).stdout.includes(channel),
  );
}

const publish = (channel: string, data: string, ...more: string[]) => cli.run(`publish ${channel}`, data, ...more);

test("prints messages of several channels and direct messages for people, and ends with 0 at Ctrl-C", async () => {
  const one = await listen("l/1", "l/2", "--as", "ann");
  expect(one.stderr).toBe(`parley: listening to l/1, l/2 at ${cli.server.url} as ann; press Ctrl-C to stop\n`);
  await publish("l/1", "hello");
  await publish("l/2", '{"text":"hi"}', "--as", "bob");
  await cli.run("send ann", "psst");
  await one.has("stdout", "psst");
  expect(await one.stop()).toBe(0);
  expect(one.stdout.replaceAll(/\d\d:\d\d:\d\d/g, "TIME").split("\n")).toEqual([
    "TIME  l/1     cli           hello",
    'TIME  l/2     bob           {"text":"hi"}',
    "TIME  direct  cli           psst",
    "",
  ]);
});

test("--json prints one object per line, and with --presence who is there", async () => {
  const one = await listen("l/json", "--json", "--presence", "--as", "ann");
  const two = await listen("l/json", "--presence", "--as", "bob");
  await one.has("stdout", '"joined"');
  const minted = await cli.run("token mint --peer cli --channels l/*", "--peer-metadata", '{"name":"Ann"}');
  await cli.runWith({ PARLEY_TOKEN: minted.stdout.trim() }, "publish l/json [1,null] --id m1");
  await one.has("stdout", '"message"');
  await two.stop("SIGTERM");
  await one.has("stdout", '"left"');
  expect(await one.stop()).toBe(0);
  expect(one.json).toEqual([
    { type: "joined", channel: "l/json", peerId: "bob" },
    { type: "message", channel: "l/json", from: "cli", data: [1, null], fromMetadata: { name: "Ann" }, id: "m1" },
    { type: "left", channel: "l/json", peerId: "bob" },
  ]);
  expect(one.stderr).toBe("");
  expect(two.stdout).toContain("l/json  ann           joined");
});

test("without --presence it is not shown as a member", async () => {
  const one = await listen("l/hidden");
  expect(await cli.json("channels --prefix l/hidden")).toEqual({ channel: "l/hidden", peers: 0, connections: 1 });
  await one.stop();
});

test("--count ends it, and a reader that closes the pipe ends it quietly", async () => {
  const one = await listen("l/count", "--count", "2", "--json");
  const { exitCode } = await shell('printf "1\\n2\\n3\\n" | parley publish l/count -', cli.server.env);
  expect([exitCode, await one.exited, one.json.map(({ data }) => data)]).toEqual([0, 0, [1, 2]]);
  let hasEnded = false;
  const piped = shell("parley listen l/pipe --json | head -1", cli.server.env).finally(() => (hasEnded = true));
  await subscribed("l/pipe");
  // The end of the reader shows with the next write.
  while (!hasEnded) await publish("l/pipe", "1");
  const ended = await piped;
  expect([ended.exitCode, ended.stdout.split("\n").length, ended.stderr]).toEqual([0, 2, ""]);
});

test("survives a restart of the service: it says what is missing, and recovers where there is history", async () => {
  const data = join(cli.folder, "restarted");
  let server = await startServer(data);
  const { env } = server;
  const run = (...args: string[]): Promise<number> => start(env, args).exited;
  await run("apps", "rules", "demo", "--add", "kept/*", "--messages", "100", "--seconds", "1h");
  await run("publish", "kept/1", "first");
  const args = ["listen", "kept/1", "plain", "--history", "10"];
  const [text, json] = [start(env, args), start(env, [...args, "--json"])];
  const sender = start(env, ["publish", "kept/1", "-", "--text"]);
  await text.has("stderr", "plain has no history");
  await json.has("stderr", "plain has no history");
  sender.type("before\n");
  await text.has("stdout", "before");
  await server.stop();
  sender.type("meanwhile\n");
  await text.has("stderr", "reconnecting");
  server = await startServer(data, [], "127.0.0.1", Number(new URL(server.url).port));
  await Promise.all([text.has("stdout", "meanwhile"), json.has("stdout", "meanwhile")]);
  for (const one of [text, json]) {
    await one.has("stderr", "reconnected; nothing is missing on kept/1");
    await one.has("stderr", "reconnected; messages on plain may be missing: the channel has no history");
  }
  sender.type("after\n");
  await sender.endInput();
  expect([await sender.exited, sender.stdout]).toEqual([0, "3 messages published to kept/1\n"]);
  await Promise.all([text.has("stdout", "after"), json.has("stdout", "after")]);
  expect([await text.stop(), await json.stop()]).toEqual([0, 0]);
  const heard = json.json.filter(({ type }) => type === "message");
  expect(heard.map((one) => one.data)).toEqual(["first", "before", "meanwhile", "after"]);
  expect(heard[0]).toMatchObject({ replay: true, pos: expect.any(String), time: expect.any(Number) });
  expect(json.json).toContainEqual({ type: "gap", channel: "plain", reason: "no_history" });
  await server.stop();
});

test("when a rule gives a channel history it says so, and claims no loss that it does not know of", async () => {
  const one = await listen("l/begun/1");
  await cli.json("apps rules demo --add l/begun/* --messages 10 --seconds 1h");
  await one.has("stderr", "reconnected; l/begun/1 has history from now on; messages published earlier may");
  await cli.json("apps rules demo --remove l/begun/* --yes");
  await one.has("stderr", "reconnected; messages on l/begun/1 may be missing: the channel has no history");
  expect(one.stderr).not.toContain("are missing");
  expect(one.stderr).not.toContain("too many were published");
  await one.stop();
});

test("a kick and a revoked key end it with 1 and the reason, also a publish that waits for its next line", async () => {
  const one = await listen("l/kick", "--as", "ann");
  expect((await cli.run("kick ann")).stdout).toMatch(/^closed +1 connection$/m);
  expect([await one.exited, one.stderr]).toEqual([
    1,
    expect.stringContaining("disconnected by backend or operator (4020)"),
  ]);
  const key = await cli.json<{ keyId: string }>(
    "keys create --app demo --type publishable --channels l/* --actions subscribe --origins *",
  );
  const two = await listen("l/revoked", "--key", key.keyId);
  const sender = start(cli.server.env, ["publish", "l/revoked", "-", "--as", "sender"]);
  sender.type("one\n");
  await two.has("stdout", "one");
  await cli.run("kick sender");
  expect([await sender.exited, sender.stderr]).toEqual([1, expect.stringContaining("by backend or operator (4020)")]);
  await cli.run(`keys revoke ${key.keyId} --yes`);
  expect([await two.exited, two.stderr]).toEqual([1, expect.stringContaining("key revoked (4001)")]);
});

describe("a line", () => {
  const nowMs = new Date(2027, 0, 2, 3, 4, 5).getTime();
  const plain = new ListenText(["a"], false, () => nowMs);
  const message = { channel: "a", from: "ann", data: "x" };

  test("has the date of a message of another day", () => {
    const time = nowMs - 90_000_000;
    expect(plain.of({ type: "message", message: { ...message, time } })).toBe(
      "2027-01-01 02:04:05  a       ann           x\n",
    );
  });

  test("shows control characters of data and names as escapes, and colours only on a terminal", () => {
    const data = "\x1b[2Jred\x07\u009b31m\u202ex";
    const line = plain.of({ type: "message", message: { channel: "a", from: "a\x1b", data } });
    expect(line).toBe("03:04:05  a       a\\u001b       \\u001b[2Jred\\u0007\\u009b31m\\u202ex\n");
    expect(plain.of({ type: "message", message: { ...message, data: "a\nb\tc" } })).toEndWith("a\\nb\\tc\n");
    const coloured = new ListenText(["a"], true, () => nowMs);
    expect(coloured.of({ type: "left", channel: "a", member: { peerId: "ann" } })).toContain("\x1b[33mann");
  });
});
