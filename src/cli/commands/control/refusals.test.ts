/** `parley refusals`, as a process, against a running server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { run, json, jsonLines } = cli;

test("what was refused is listed, with how often, and filters choose from it", async () => {
  await json("apps create shop");
  const none = await run("refusals --app shop");
  expect([none.exitCode, none.stdout, none.stderr]).toEqual([0, "", "No refusals match in the last 24 hours.\n"]);
  const { keyId } = await json<{ keyId: string }>(
    "keys create --app shop --type publishable --channels news --actions subscribe --origins https://shop.example",
  );
  const connect = (key: string, origin: string): Promise<Response> =>
    fetch(`${cli.server.url}/v1?key=${key}`, { headers: { origin } });
  await connect(keyId, "https://elsewhere.example");
  await connect(keyId, "https://elsewhere.example");
  await connect("pk_live_nothing", "https://shop.example");
  const [head, row, ...more] = (await run("refusals --app shop")).stdout.trimEnd().split("\n");
  expect(head).toMatch(/^LAST +TIMES +WHAT +CODE +APP +KEY +PEER +CHANNEL +FROM$/);
  expect(row).toMatch(
    / 2 +connect +origin_not_allowed +shop +pk_live_\w+ .*127\.0\.0\.1 on https:\/\/elsewhere\.example/,
  );
  expect(more).toEqual([]);
  const offered = "malformed pk_live_…, 15 characters";
  const unknown = { kind: "refuse", code: "unauthorized", count: 1, offered, origin: "https://shop.example" };
  expect((await run("refusals --unknown")).stdout).toContain(offered);
  expect(await jsonLines("refusals --unknown")).toMatchObject([unknown]);
  expect(await jsonLines("refusals --code origin_not_allowed --kind connect")).toMatchObject([{ keyId, count: 2 }]);
  expect(await jsonLines("refusals --from elsewhere")).toMatchObject([{ keyId, count: 2 }]);
  expect(await jsonLines("refusals --peer bob")).toEqual([]);
  const { stderr } = await run("refusals --limit 1");
  const next = /^More entries: --after (\S+)$/m.exec(stderr)?.[1];
  expect(await jsonLines(`refusals --limit 1 --after ${next}`)).toMatchObject([{ keyId }]);
});

test("a client that still connects with a revoked key is listed with its application and that key", async () => {
  const { keyId } = await json<{ keyId: string }>(
    "keys create --app shop --type publishable --channels news --actions subscribe --origins *",
  );
  await json(`keys revoke ${keyId} --yes`);
  expect((await fetch(`${cli.server.url}/v1?key=${keyId}`)).status).toBe(401);
  expect((await run("refusals --app shop")).stdout).toMatch(new RegExp(` connect +key_revoked +shop +${keyId} `));
  expect(await jsonLines("refusals --code key_revoked")).toMatchObject([{ keyId, appName: "shop" }]);
});

test.each([
  ["--app nothing-of-that-name", 1, "there is no application with this id or name"],
  ["--app shop --unknown", 2, "--unknown does not go with --app"],
  ["--kind publish", 2, "--kind"],
  ["--after nonsense", 1, "must be the `next` of the previous page"],
  ["--limit 5000", 2, "allowed: 1 to 1000"],
])("%s is refused with a sentence", async (flags, code, message) => {
  const { exitCode, stderr } = await run(`refusals ${flags}`);
  expect([exitCode, stderr]).toEqual([code, expect.stringContaining(message)]);
});
