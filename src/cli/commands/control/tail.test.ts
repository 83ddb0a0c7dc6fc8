import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../../../../test/support/wait.ts";
import { withServer } from "../../testing/kit.ts";
import { Running } from "../../testing/running.ts";
import { TailText } from "./tail-text.ts";

setDefaultTimeout(60_000);

describe("parley tail", () => {
  const kit = withServer();
  const running: Running[] = [];
  const tail = (...args: string[]): Running => {
    const one = new Running(["tail", ...args], kit.server.env);
    running.push(one);
    return one;
  };
  afterEach(() => Promise.all(running.splice(0).map((one) => one.stop("SIGKILL"))));

  test("begins with a note on stderr, and ends with 0 at Ctrl-C", async () => {
    const one = tail();
    await one.has("stderr", "press Ctrl-C to stop");
    expect(await one.stop()).toBe(0);
    expect(one.stdout).toBe("");
  });

  test("prints refused connects as text and as JSON", async () => {
    const [text, json] = [tail(), tail("--json", "--kind", "refuse")];
    await text.has("stderr", "Ctrl-C");
    const metrics = async (): Promise<string> => (await fetch(`${kit.server.url}/metrics`)).text();
    await until("both read", async () => (await metrics()).includes("parley_tail_readers 2"));
    await fetch(`${kit.server.url}/v1?key=pk_live_nothing`);
    await Promise.all([text.has("stdout", "refuse"), json.has("stdout", "\n")]);
    expect(text.stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}refuse .* unauthorized {2}from 127\.0\.0\.1 .*@\w+\n$/);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: "refuse", code: "unauthorized", address: "127.0.0.1" });
    expect([await text.stop(), await json.stop("SIGTERM")]).toEqual([0, 0]);
    expect(json.stderr).toBe("");
  });

  test.each([
    ["--kind publish,sneeze", 2, '--kind has "sneeze"; allowed: connect, refuse'],
    ["--channel a/***", 1, "channel: a pattern must not contain '***'."],
    ["--app nothing-of-that-name", 1, "app: there is no application"],
    ["--key sk_id_1:sk_secret_2", 1, "never send a secret here"],
    ["--url http://127.0.0.1:1", 1, "cannot reach a server at http://127.0.0.1:1"],
  ])("%s is refused with a sentence", async (flags, code, message) => {
    const { exitCode, stderr } = await kit.run(`tail ${flags}`);
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(message)]);
  });

  test("says which credential is wrong", async () => {
    const { exitCode, stderr } = await kit.runWith({ PARLEY_ADMIN_TOKEN: "wrong" }, "tail");
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining("PARLEY_ADMIN_TOKEN is no longer valid, or belongs to another server"),
    ]);
  });

  test("says when the server is gone, and goes on trying", async () => {
    const one = tail();
    await one.has("stderr", "Ctrl-C");
    await kit.server.stop();
    await one.has("stderr", "; reconnecting");
    expect(await one.stop()).toBe(0);
  });
});

describe("a line", () => {
  const plain = new TailText(async (app) => (app === "a1" ? "shop" : app), false);
  const at = new Date(2027, 0, 2, 3, 4, 5, 6).getTime();
  const common = { at, app: "a1", nodeId: "n1" };

  test("is aligned, with what matters for its kind", async () => {
    const lines = await Promise.all(
      [
        { ...common, kind: "connect", peerId: "ann", keyId: "pk_live_1", address: "192.0.2.7" },
        { ...common, kind: "publish", channel: "chat/1", peerId: "ann", keyId: "pk_live_1", bytes: 12 },
        { ...common, kind: "send", peerId: "ann", to: "bob", bytes: 3, data: { a: 1 } },
        { ...common, kind: "presence", channel: "chat/1", peerId: "ann", change: "left" },
        { ...common, kind: "close", peerId: "ann", code: 4011 },
        { at, kind: "dropped", count: 12 },
      ].map((event) => plain.of(event)),
    );
    expect(lines).toEqual([
      "03:04:05.006  connect      shop                                ann               from 192.0.2.7  with pk_live_1  @n1",
      "03:04:05.006  publish      shop          chat/1                ann               12 B  @n1",
      '03:04:05.006  send         shop                                ann → bob         3 B  {"a":1}  @n1',
      "03:04:05.006  presence     shop          chat/1                ann               left  @n1",
      "03:04:05.006  close        shop                                ann               4011  @n1",
      "03:04:05.006  dropped      12 events were skipped here; use a narrower filter to see all",
    ]);
  });

  test("shows control characters of names as escapes, and colours only on a terminal", async () => {
    const event = { ...common, kind: "publish", channel: "\x1b[31mred", peerId: "a\u202eb", data: "\x07" };
    const line = await plain.of(event);
    for (const mark of ["\x1b", "\x07", "\u202e"]) expect(line).not.toContain(mark);
    const coloured = new TailText(async () => "shop", true);
    expect(await coloured.of({ ...common, kind: "error" })).toContain("\x1b[31merror");
  });
});
