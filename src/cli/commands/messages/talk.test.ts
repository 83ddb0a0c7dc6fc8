/** `parley publish`, `send`, `channels`, `peers`, `kick` and `usage`, as processes, against a running server. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parley, withServer } from "../../testing/kit.ts";
import { Running } from "../../testing/running.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { folder } = cli;

const newKey = async (type: string, channels: string, actions: string): Promise<string> => {
  const origins = type === "publishable" ? ["--origins", "*"] : [];
  const key = await cli.json<{ keyId: string; secret?: string }>(
    `keys create --app demo --type ${type} --channels ${channels} --actions ${actions}`,
    ...origins,
  );
  return key.secret === undefined ? key.keyId : `${key.keyId}:${key.secret}`;
};

/** A member, and what it has received. */
async function member(channel: string, peerId: string): Promise<Running> {
  const one = new Running(["listen", channel, "--presence", "--as", peerId], cli.server.env);
  await one.has("stderr", "press Ctrl-C to stop");
  return one;
}

test("publish and send report what the service has accepted, as text and as JSON", async () => {
  const ann = await member("t/1", "ann");
  const text = await cli.run("publish t/1", "hello");
  expect(text).toEqual({ stdout: "published to t/1\n", stderr: "", exitCode: 0 });
  expect(await cli.json("publish t/1", '{"a":1}')).toEqual({ channel: "t/1", published: true });
  expect(await cli.json("send ann", "true", "--id", "x1")).toEqual({ peerId: "ann", delivered: true, id: "x1" });
  expect((await cli.run("send ann", "42", "--text")).stdout).toBe("handed to ann\n");
  await ann.has("stdout", "  42");
  expect(await ann.stop()).toBe(0);
});

test("a negative number is a message", async () => {
  const bob = await member("t/minus", "bob");
  expect((await cli.run("publish t/minus -5")).stdout).toBe("published to t/minus\n");
  await bob.has("stdout", "  -5");
  await bob.stop();
});

test("numbers arrive as they were written", async () => {
  await cli.json("apps rules demo --add exact --messages 5 --seconds 60");
  const { pos } = await cli.json<{ pos: string }>("publish exact", '{"n":12345678901234567890,"x":1.50}');
  expect(pos).toBeString();
  const headers = { Authorization: `Bearer ${cli.server.secretKey}` };
  const page = await fetch(`${cli.server.url}/v1/channels/exact/history`, { headers });
  expect(await page.text()).toContain('{"n":12345678901234567890,"x":1.50}');
  // The same id within two minutes is stored once.
  await cli.json("publish exact", "1", "--id", "same");
  expect(await cli.json("publish exact", "1", "--id", "same")).toMatchObject({ id: "same", duplicate: true });
});

test("each line of stdin is a message; the first that is refused ends it with its number", async () => {
  const stdin = 'text\n\n{"a":1}\r\n7';
  const good = await parley(["publish", "t/lines", "-", "--json"], { env: cli.server.env, stdin });
  expect([good.exitCode, good.stderr]).toEqual([0, ""]);
  expect(good.stdout.trim().split("\n")).toHaveLength(3);
  for (const line of good.stdout.trim().split("\n"))
    expect(JSON.parse(line)).toEqual({ channel: "t/lines", published: true, id: expect.any(String) });
  const asText = await parley(["publish", "t/lines", "-"], { env: cli.server.env, stdin });
  expect(asText).toEqual({ exitCode: 0, stdout: "3 messages published to t/lines\n", stderr: "" });
  const wrong = await parley(["publish", "t/lines", "-"], { env: cli.server.env, stdin: "a\n{b}\nc\n" });
  expect([wrong.exitCode, wrong.stdout]).toEqual([2, ""]);
  expect(wrong.stderr).toStartWith('parley: line 2, after 1 messages: "{b}" looks like JSON but is not');
  const unknown = await parley(["send", "no-one", "-"], { env: cli.server.env, stdin: "a\n" });
  expect([unknown.exitCode, unknown.stderr]).toEqual([
    1,
    expect.stringContaining("line 1, after 0 messages: This peer is not conn"),
  ]);
});

test("channels, peers, kick, blocks, unblock and usage, as text and as JSON", async () => {
  const [ann, bob] = [await member("u/1", "ann"), await member("u/2", "bob")];
  const lines = (text: string): unknown[] =>
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  expect((await cli.run("channels --prefix u/")).stdout).toBe(
    ["CHANNEL  PEERS  CONNECTIONS", "u/1      1      1", "u/2      1      1", ""].join("\n"),
  );
  expect(lines((await cli.run("channels --prefix u/ --json")).stdout)).toEqual([
    { channel: "u/1", peers: 1, connections: 1 },
    { channel: "u/2", peers: 1, connections: 1 },
  ]);
  expect(await cli.run("channels --prefix none")).toEqual({
    stdout: "",
    stderr: "No channel has subscribers.\n",
    exitCode: 0,
  });
  expect((await cli.run("peers u/1")).stdout).toMatch(/^PEER +METADATA +STATE\nann +- +-\n$/);
  expect(await cli.json("peers u/1")).toEqual({ channel: "u/1", peerId: "ann" });
  expect((await cli.run("peers u/none")).stderr).toBe("u/none has no members.\n");
  expect(await cli.json("kick bob --block 1m")).toEqual({ peerId: "bob", closed: 1, blockedSec: 60 });
  expect(await bob.exited).toBe(1);
  const absent = await cli.run("kick absent");
  expect([absent.exitCode, absent.stdout, absent.stderr]).toEqual([
    0,
    expect.stringMatching(/^closed +0 connections$/m),
    'This peer is not connected; "parley peers CHANNEL" lists who is in a channel.\n',
  ]);
  const blocked = await cli.run("listen u/2 --as bob");
  expect([blocked.exitCode, blocked.stderr]).toEqual([1, expect.stringContaining("not valid")]);
  expect((await cli.run("blocks")).stdout).toMatch(/^PEER +UNTIL +BY\nbob +\S+ \S+Z +\S+\n$/);
  expect(await cli.json("blocks")).toMatchObject({ peerId: "bob", until: expect.any(Number) });
  expect((await cli.run("unblock bob")).stdout).toMatch(/^peer +bob\nunblocked +yes\n$/);
  const returned = await member("u/2", "bob");
  await returned.stop();
  expect(await cli.json("unblock bob")).toEqual({ peerId: "bob", unblocked: false });
  expect(await cli.run("blocks")).toEqual({
    stdout: "",
    stderr: 'No peer is blocked; "parley kick PEER --block 10m" blocks one.\n',
    exitCode: 0,
  });
  expect(await cli.json("usage")).toMatchObject({ concurrentNow: 1, messagesUsed: expect.any(Number) });
  expect((await cli.run("usage")).stdout).toMatch(/^connections +1 now, \d+ at most, unlimited$/m);
  await ann.stop();
});

describe("what is wrong is refused with a sentence:", () => {
  test.each([
    ["listen a/*", 2, '"a/*" is a pattern, but this needs a channel name'],
    ["listen a --history 1001", 2, '--history is "1001"; it must be 1 to 1000 messages, or a time'],
    ["listen a --count 0", 2, "--count must be at least 1"],
    ["listen _parley/x", 1, "channel"],
    ["listen a --key pk_live_unknown", 1, "the publishable key of --key was refused"],
    ["listen a --key sk_id_1:sk_secret_2", 1, "the secret key of --key was refused: it is unknown or revoked"],
    ["listen a --key secret", 2, "--key must be a secret key, sk_id_…:sk_secret_…, or a publishable key"],
    ["listen a --token e.e.e", 1, "the token of --token was refused: the token is not valid"],
    ["listen a --token x", 2, '--token must be a connect token from "parley token mint"'],
    ["listen a --token e.e.e --key pk_live_1", 2, "--token and --key cannot be used together"],
    ["listen a --key pk_live_1 --as ann", 2, "--as needs a secret key: --key already sets the peer id"],
    ["listen a --url http://127.0.0.1:1", 1, "cannot reach a server at http://127.0.0.1:1"],
    ["listen a --url http://127.0.0.1:1 --key pk_live_1", 1, "cannot connect to http://127.0.0.1:1"],
    ["publish a {b", 2, "--text sends it as text"],
    ["publish a x --id é", 2, "--id must be 1 to 64 printable ASCII characters"],
    ["publish a - --id x", 2, "--id is for a single message"],
    ["send stranger x", 1, 'This peer is not connected. "parley peers CHANNEL" lists'],
    ["channels --key pk_live_1", 2, "--key is a publishable key, and this command needs a secret key"],
    ["unblock é", 2, '"é" is not a peer id'],
    ["kick ann --block 25h", 2, "--block must be at most 86400 seconds"],
  ])("%s", async (line, code, message) => {
    const { exitCode, stdout, stderr } = await cli.run(line);
    expect([exitCode, stdout, stderr]).toEqual([code, "", expect.stringContaining(message)]);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).not.toContain("sk_secret_2");
  });

  test("a channel or an action that the key does not have, also as JSON", async () => {
    const key = await newKey("secret", "only/*", "subscribe");
    const [channel, action] = await Promise.all([
      cli.run(`listen other --key ${key} --json`),
      cli.run(`publish only/1 x --key ${key}`),
    ]);
    expect([channel.exitCode, JSON.parse(channel.stderr)]).toEqual([
      1,
      { error: "channel_not_authorized", message: expect.stringContaining("The key must cover it") },
    ]);
    expect([action.exitCode, action.stderr]).toEqual([1, expect.stringContaining("The key must permit it")]);
    const publishable = await newKey("publishable", "only/*", "subscribe");
    const refused = await cli.run(`listen only/1 other --key ${publishable}`);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("parley: other: ")]);
  });

  test("a message over 64 KiB", async () => {
    const { exitCode, stderr } = await cli.run("publish a", "x".repeat(65_536));
    expect([exitCode, stderr]).toEqual([1, "parley: the message is longer than 65536 bytes\n"]);
  });
});

describe("credentials", () => {
  const here = (args: string, env: Record<string, string> = {}) =>
    parley([...args.split(" "), "--data", join(folder, "data")], { env: { PARLEY_URL: cli.server.url, ...env } });

  test("without flags the data folder's demo key is used, and PARLEY_DATA names the folder", async () => {
    const env = { PARLEY_URL: cli.server.url, PARLEY_DATA: join(folder, "data") };
    expect(await parley(["publish", "a", "x"], { env })).toEqual({
      stdout: "published to a\n",
      stderr: "",
      exitCode: 0,
    });
  });

  test("a token is used as it is", async () => {
    const { stdout } = await cli.run("token mint --peer tina --channels t/* --permissions publish");
    const env = { PARLEY_TOKEN: stdout.trim(), PARLEY_KEY: "" };
    expect((await cli.runWith(env, "publish t/1 x")).exitCode).toBe(0);
    const refused = await cli.runWith(env, "publish other x");
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      'parley: The token does not cover this channel. It is the token of PARLEY_TOKEN: unset PARLEY_TOKEN, or mint another with "parley token mint --peer NAME --channels other"\n',
    ]);
    const flag = await cli.run(`publish logs/app x --token ${stdout.trim()}`);
    expect(flag.stderr).toContain("It is the token of --token: leave --token out, or mint another with");
    const action = await cli.runWith(env, "listen t/1");
    expect(action.stderr).toContain(
      'unset PARLEY_TOKEN, or mint another with "parley token mint --peer NAME --permissions ',
    );
    const ended = await cli.runWith({ ...env, PARLEY_TOKEN: "e.e.e" }, "publish t/1 x");
    expect(ended.stderr).toBe(
      `parley: the token of PARLEY_TOKEN was refused: the token is not valid (${cli.server.url}); unset PARLEY_TOKEN, or mint another with "parley token mint --peer NAME"\n`,
    );
  });

  test("for another application a key is made with the admin token, kept, and replaced when it is revoked", async () => {
    await cli.json("apps create shop");
    const file = join(folder, "data/command-line/shop.key");
    expect((await here("usage --app shop")).stdout).toMatch(/^app +shop$/m);
    const kept = readFileSync(file, "utf8").trim();
    expect([statSync(file).mode & 0o777, kept]).toEqual([0o600, expect.stringMatching(/^sk_id_\w+:sk_secret_/)]);
    expect((await here("publish a x --app shop")).exitCode).toBe(0);
    expect(readFileSync(file, "utf8").trim()).toBe(kept);
    const [id = ""] = kept.split(":");
    expect(await cli.json(`keys show ${id}`)).toMatchObject({ label: "command line" });
    await cli.run(`keys revoke ${id} --yes`);
    expect((await here("usage --app shop")).exitCode).toBe(0);
    expect(readFileSync(file, "utf8").trim()).not.toBe(kept);
  });

  test("the keys of this machine are never sent to another one", async () => {
    const env = { PARLEY_DATA: join(folder, "data"), PARLEY_URL: "http://parley.invalid" };
    const { exitCode, stderr } = await parley(["usage"], { env });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("the service is on another machine")]);
  });

  test("what is missing is named, with what to do", async () => {
    const empty = join(folder, "empty");
    mkdirSync(empty);
    const env = { PARLEY_URL: cli.server.url };
    const [none, bare, unknown] = await Promise.all([
      parley(["usage", "--data", join(folder, "nowhere")], { env }),
      parley(["usage", "--data", empty], { env }),
      here("usage --app nothing-of-that-name"),
    ]);
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("pass the data folder with --data")]);
    expect([bare.exitCode, bare.stderr]).toEqual([2, expect.stringContaining("or set PARLEY_OPERATOR_TOKEN")]);
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("there is no application")]);
    expect(existsSync(join(folder, "data/command-line/nothing-of-that-name.key"))).toBe(false);
  });
});
