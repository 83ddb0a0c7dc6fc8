/** `parley streams`, as a process, against a running server. */
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { run, json, jsonLines } = cli;

const send = async (method: string, channel: string, body: string, headers: Record<string, string> = {}) => {
  const { url, secretKey } = cli.server;
  const all = { Authorization: `Bearer ${secretKey}`, "Content-Type": "application/json", ...headers };
  const response = await fetch(`${url}/v1/stream/${channel}`, { method, body, headers: all });
  expect(response.ok).toBe(true);
};

beforeAll(async () => {
  expect((await run("streams list")).stderr).toBe("demo has no streams.\n");
  await json("apps rules demo --add answers/** --stream-bytes 65536 --stream-seconds 7d");
  await send("PUT", "answers/1", '["a","b"]');
  await send("PUT", "answers/2", "[]", { "Stream-Closed": "true" });
  await send("POST", "answers/1", '"c"', { "Producer-Id": "worker", "Producer-Epoch": "0", "Producer-Seq": "0" });
});

test("streams are listed, and searched by a part of their name", async () => {
  const [head, ...rows] = (await run("streams list")).stdout.trimEnd().split("\n");
  expect(head).toMatch(/^STREAM +STATE +TYPE +MESSAGES +BYTES +CREATED +EXPIRES$/);
  expect(rows[0]).toMatch(/^answers\/1 +open +application\/json +3 +\d+ B /);
  expect(rows[1]).toMatch(/^answers\/2 +closed +application\/json +0 +0 B /);
  expect(await jsonLines("streams list --contains S/2")).toMatchObject([{ channel: "answers/2", closed: true }]);
  expect((await run("streams list --contains s/3")).stderr).toBe("No stream has that in its name.\n");
});

test("one stream is shown with its producers and its readers", async () => {
  const { stdout } = await run("streams show answers/1");
  expect(stdout).toMatch(/^bytes +\d+ B of 64\.0 KiB$/m);
  expect(stdout).toMatch(/^kept +7 days after its last use$/m);
  expect(stdout).toMatch(/^worker +sk_id_\w+ +- +0 +0 +\d{4}-/m);
  expect(await json("streams show answers/1")).toMatchObject({ messages: 3, readers: 0, producers: [{ seq: 0 }] });
});

test("a stream is deleted only with --yes where there is no terminal", async () => {
  const asked = await run("streams delete answers/2");
  expect([asked.exitCode, asked.stderr]).toEqual([2, expect.stringContaining("add --yes to delete the stream")]);
  expect(await json("streams delete answers/2 --yes")).toEqual({ channel: "answers/2", deleted: true });
  const repeated = await run("streams delete answers/2 --yes");
  expect([repeated.exitCode, repeated.stderr]).toEqual([1, expect.stringContaining("There is no stream of this name")]);
  expect((await run("streams show a*")).exitCode).toBe(2);
});
