/** `parley keys traffic`, as a process, against a running server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { run, json, jsonLines } = cli;

test("the keys that are in use are listed with their traffic", async () => {
  await json("apps create shop");
  const unused = await run("keys traffic --app shop");
  expect([unused.exitCode, unused.stdout, unused.stderr]).toEqual([0, "", "No key was used in the last 15m.\n"]);
  const newKey = (): Promise<{ keyId: string; secret: string }> =>
    json("keys create --app shop --type secret --channels news --actions publish");
  const { keyId, secret } = await newKey();
  await newKey();
  const published = await fetch(`${cli.server.url}/v1/channels/news/publish`, {
    method: "POST",
    headers: { authorization: `Bearer ${keyId}:${secret}`, "content-type": "application/json" },
    body: '{"data":1}',
  });
  expect(published.status).toBe(200);
  const [head, row, ...more] = (await run("keys traffic --app shop --range 24h")).stdout.trimEnd().split("\n");
  expect(head).toMatch(/^KEY +CONNECTIONS +CONNECTS +REFUSALS +MESSAGES +ERRORS$/);
  expect([row?.startsWith(`${keyId}  0 `), more]).toEqual([true, []]);
  expect(await jsonLines("keys traffic --app shop")).toMatchObject([{ keyId, connections: 0 }]);
});
