/** Uploads on a folder that three nodes share, on one PostgreSQL: one writer and one completion over all of them. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Application, newApplication } from "../support/application.ts";
import { call } from "../support/http.ts";
import type { Server } from "../support/parley.ts";
import { PausedDownload } from "../support/paused-download.ts";
import { Backend, type Begun, isRefusal, sha256, webm } from "../support/recordings.ts";
import { SLACK_MS } from "../support/slack.ts";
import { SlowPut } from "../support/slow-put.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until, within } from "../support/wait.ts";
import { Cluster, frozen } from "./support/cluster.ts";

/** Slowly: each try sends all that is left. */
const TRY_EVERY_MS = 100;

setDefaultTimeout(120_000);

const BUSY = { status: 423, code: "upload_busy" };
/** The lease of a node that stopped responding ends after 10 s. */
const LEASE_ENDS_MS = 15_000 + 2 * SLACK_MS;

const data = tempFolder();
let cluster: Cluster;
/** The same application on each node. */
let backends: [Backend, Backend, Backend];
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 3, joined: false, data, env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  const [first] = cluster.pair;
  const app = await newApplication(first);
  const on = ({ url }: Server): Backend => new Backend(new Application(url, app.name, app.secretKey, app.id));
  backends = cluster.nodes.map(on) as [Backend, Backend, Backend];
  for (const backend of backends)
    await until("it knows the application", async () => (await backend.app.call("GET", "/recordings")).status === 200);
});
afterAll(async () => {
  await cluster.stop();
  removeFolder(data);
});

const range = (first: number, last: number, total: number) => ({ "Content-Range": `bytes ${first}-${last}/${total}` });
const files = (): string[] => readdirSync(join(data, "recordings/uploads"));

async function bytesOf(backend: Backend, id: string): Promise<string> {
  return sha256(await (await backend.fetch(await backend.link(id, "download"))).bytes());
}

/** An upload of 1,000,000 bytes whose first 400,000 have arrived. */
async function halfSent(backend: Backend, { _id, uploadUrl }: Begun, bytes: Uint8Array): Promise<SlowPut> {
  const put = await SlowPut.begin(backend.app.url, uploadUrl, { "Content-Length": bytes.length });
  await put.send(bytes.subarray(0, 400_000));
  const file = join(data, "recordings/uploads", _id);
  await until("they are written", () => statSync(file, { throwIfNoEntry: false })?.size === 400_000);
  // They are not flushed yet, so no node reports them.
  for (const one of backends) expect(await one.offset(uploadUrl, bytes.length)).toBe(0);
  return put;
}

test("while one node writes, the others respond 423 to writes, completions and deletions; afterwards they accept them", async () => {
  const [one, other] = backends;
  const begun = await one.begin();
  const bytes = webm(1_000_000);
  const put = await halfSent(one, begun, bytes);
  const rest = range(400_000, 999_999, 1_000_000);
  expect(isRefusal(await other.put(begun.uploadUrl, bytes.slice(400_000), rest))).toEqual(BUSY);
  expect((await other.app.call("POST", `/recording/${begun._id}/complete`)).status).toBe(423);
  expect((await other.app.call("DELETE", `/recording/${begun._id}`)).status).toBe(423);
  put.drop();
  await until(
    "the other node may write",
    async () => (await other.put(begun.uploadUrl, bytes.slice(400_000), rest)).status === 200,
  );
  await one.complete(begun._id);
  expect(await bytesOf(other, begun._id)).toBe(sha256(bytes));
  expect(isRefusal(await other.put(begun.uploadUrl, bytes)).status).toBe(409);
});

test("of bodies sent to all nodes at once one is accepted, and the file is exactly that one", async () => {
  const { _id, uploadUrl } = await backends[0].begin();
  const all = Array.from({ length: 12 }, (_, i) => webm(300_000, i + 1));
  const answers = await Promise.all(
    all.map((bytes, i) => (backends[i % 3] as Backend).put(uploadUrl, bytes).then(({ status }) => status)),
  );
  const taken = answers.flatMap((status, i) => (status === 200 ? [i] : []));
  expect(taken).toHaveLength(1);
  for (const status of answers) expect([200, 409, 423]).toContain(status);
  await backends[1].complete(_id);
  expect(await bytesOf(backends[2], _id)).toBe(sha256(all[taken[0] ?? 0] ?? new Uint8Array()));
});

test("parts whose total is not known go to another node each time, and any node completes them", async () => {
  const { _id, uploadUrl } = await backends[0].begin();
  const bytes = webm(700_000);
  for (let at = 0; at < bytes.length; at += 35_000) {
    const node = backends[(at / 35_000) % 3] as Backend;
    const headers = { "Content-Range": `bytes ${at}-${at + 34_999}/*` };
    expect(await node.mustPut(uploadUrl, bytes.slice(at, at + 35_000), headers)).toBe(at + 35_000);
  }
  const asked = await backends[1].put(uploadUrl, undefined, { "Content-Range": "bytes */*" });
  expect(asked.body.offset).toBe(bytes.length);
  const short = await backends[2].app.call("POST", `/recording/${_id}/complete`, { total: 699_999 });
  expect([short.status, short.body.error.code, short.body.offset]).toEqual([409, "upload_incomplete", 700_000]);
  await backends[2].complete(_id, { total: bytes.length });
  expect(await bytesOf(backends[0], _id)).toBe(sha256(bytes));
});

test("an upload completed by all nodes at once, twenty times, returns the same recording every time", async () => {
  for (let round = 0; round < 20; round++) {
    const { _id, uploadUrl } = await backends[0].begin();
    await backends[round % 3]?.mustPut(uploadUrl, webm(1000));
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => backends[i % 3]?.app.call("POST", `/recording/${_id}/complete`)),
    );
    for (const answer of answers) expect([answer?.status, answer?.body]).toEqual([200, answers[0]?.body]);
    expect(answers[0]?.body._id).toBe(_id);
  }
});

test("when a node freezes or dies in the middle of a body, another continues within 15 s, and what the first does after it resumes changes nothing", async () => {
  const [one, other, third] = backends;
  const [frozenNode, , dyingNode] = cluster.nodes as [Server, Server, Server];
  const bytes = webm(1_000_000);
  // The bytes that the frozen node still has to write differ from those of the recording.
  const otherBytes = webm(1_000_000, 5);
  const [stalled, orphaned] = [await one.begin(), await one.begin()];
  const [frozenPut, orphanedPut] = [await halfSent(one, stalled, otherBytes), await halfSent(third, orphaned, bytes)];
  using _thaw = frozen(frozenNode);
  // They are in the socket buffers of the frozen node, which reads them first when it resumes.
  const sent = frozenPut.send(otherBytes.subarray(400_000));
  await dyingNode.kill("SIGKILL");
  orphanedPut.drop();
  const since = performance.now();

  /** As a good client does: queries the offset and continues from there. */
  const goOn = async ({ _id, uploadUrl }: Begun, whole: Uint8Array): Promise<number> => {
    let from = await other.offset(uploadUrl, whole.length);
    for (;;) {
      const headers = range(from, whole.length - 1, whole.length);
      const answer = await other.put(uploadUrl, whole.slice(from), headers);
      if (answer.status === 200) break;
      if (answer.status === 409) from = answer.body.offset;
      else expect(isRefusal(answer)).toEqual(BUSY);
      expect(performance.now() - since).toBeLessThan(LEASE_ENDS_MS);
      await Bun.sleep(TRY_EVERY_MS);
    }
    await other.complete(_id);
    return from;
  };
  const [from] = await Promise.all([goOn(stalled, bytes), goOn(orphaned, bytes)]);
  const expected = sha256(Buffer.concat([otherBytes.subarray(0, from), bytes.subarray(from)]));
  expect(await bytesOf(other, stalled._id)).toBe(expected);
  expect(await bytesOf(other, orphaned._id)).toBe(sha256(bytes));

  frozenNode.signal("SIGCONT");
  await sent;
  expect(await frozenPut.status()).toBe(409);
  expect(await bytesOf(other, stalled._id)).toBe(expected);
  expect(await bytesOf(one, stalled._id)).toBe(expected);
  expect(files()).toEqual([]);
  expect((await one.app.call("POST", `/recording/${stalled._id}/complete`)).status).toBe(200);
});

test("an operator who is revoked on one node loses the download that runs on another", async () => {
  const [backend] = backends;
  const [one, other] = cluster.pair;
  const bytes = webm(24 * 1024 * 1024);
  const { _id } = await backend.record({}, bytes);
  const operator = await one.admin.must<{ _id: string; token: string }>("POST", "/operators", {
    name: "ann",
    role: "admin",
  });
  const file = `/api/internal/v1/apps/${backend.app.name}/recordings/${_id}/file`;
  const download = await PausedDownload.begin(other.url, file, { Authorization: `Bearer ${operator.token}` });
  expect(download.head).toStartWith("HTTP/1.1 200");
  await one.admin.must("DELETE", `/operators/${operator._id}`);
  const isKnown = async (): Promise<boolean> =>
    (await call(`${other.url}/api/internal/v1/apps`, { bearer: operator.token })).status === 401;
  await until("the other node knows it", isKnown);
  expect(await within("it is cut", download.rest())).toBeLessThan(bytes.length * 0.9);
});
