/** Several nodes on one bucket, and one whose database was replaced: one writer over all nodes, and no recording is lost. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { Cluster, frozen } from "../nodes/support/cluster.ts";
import { Application, newApplication } from "../support/application.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Backend, type Begun, isRefusal, sha256, webm } from "../support/recordings.ts";
import { type S3Service, startS3 } from "../support/s3.ts";
import { SLACK_MS } from "../support/slack.ts";
import { SlowPut } from "../support/slow-put.ts";
import { until } from "../support/wait.ts";

/** Slowly: each try sends all that is left. */
const TRY_EVERY_MS = 200;

setDefaultTimeout(120_000);

const MIB = 1024 * 1024;
const LEASE_ENDS_MS = 20_000 + 2 * SLACK_MS;

let service: S3Service;
let cluster: Cluster;
let backends: [Backend, Backend];
beforeAll(async () => {
  service = await startS3();
  const env = { PARLEY_STORAGE_URL: service.storageUrl, PARLEY_REST_REQUESTS_PER_SECOND: "0" };
  cluster = await Cluster.start({ nodes: 2, joined: false, env });
  const [first] = cluster.pair;
  const { name, secretKey, id } = await newApplication(first);
  const on = ({ url }: Server): Backend => new Backend(new Application(url, name, secretKey, id));
  backends = cluster.pair.map(on) as [Backend, Backend];
  for (const backend of backends)
    await until("it knows the application", async () => (await backend.app.call("GET", "/recordings")).status === 200);
}, 600_000);
afterAll(async () => {
  await cluster?.stop();
  await service?.stop();
});

const range = (first: number, last: number, total: number) => ({ "Content-Range": `bytes ${first}-${last}/${total}` });
const hashOf = async (backend: Backend, id: string): Promise<string> =>
  sha256(await (await fetch(await backend.link(id, "download"))).bytes());

test("of bodies sent to both nodes at once one is accepted; completed by both at once, every response is the same", async () => {
  for (let round = 0; round < 5; round++) {
    const { _id, uploadUrl } = await backends[0].begin();
    const all = Array.from({ length: 6 }, (_, i) => webm(200_000, i + 1));
    const answers = await Promise.all(all.map((bytes, i) => backends[i % 2]?.put(uploadUrl, bytes)));
    const taken = answers.flatMap((answer, i) => (answer?.status === 200 ? [i] : []));
    expect(taken).toHaveLength(1);
    const completed = await Promise.all(
      Array.from({ length: 6 }, (_, i) => backends[i % 2]?.app.call("POST", `/recording/${_id}/complete`)),
    );
    for (const answer of completed) expect([answer?.status, answer?.body]).toEqual([200, completed[0]?.body]);
    expect(await hashOf(backends[1], _id)).toBe(sha256(all[taken[0] ?? 0] ?? new Uint8Array()));
  }
});

test("parts whose total is not known, to another node each time, are joined, and leave one object", async () => {
  const { _id, uploadUrl } = await backends[0].begin();
  const size = 700_000;
  const bytes = webm(14 * size);
  for (let at = 0; at < bytes.length; at += size) {
    const headers = { "Content-Range": `bytes ${at}-${at + size - 1}/*` };
    const node = backends[(at / size) % 2] as Backend;
    expect(await node.mustPut(uploadUrl, bytes.slice(at, at + size), headers)).toBe(at + size);
  }
  const objects = (): string[] =>
    readdirSync(service.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.parentPath.endsWith(`/${_id}`) && entry.parentPath.includes("uploads"))
      .map(({ name }) => name);
  // What is in the part of 8 MiB is not kept as pieces any more.
  expect(objects().length).toBeLessThan(5);
  await backends[1].complete(_id, { total: bytes.length });
  expect(await hashOf(backends[0], _id)).toBe(sha256(bytes));
  expect(objects()).toEqual([]);
});

test("a node that freezes in the middle of a body loses its lease, and what it sends after it resumes changes nothing", async () => {
  const [one, other] = backends;
  const [frozenNode] = cluster.pair;
  const [theirs, ours] = [webm(30 * MIB, 3), webm(30 * MIB, 4)];
  const { _id, uploadUrl }: Begun = await one.begin();
  const put = await SlowPut.begin(one.app.url, uploadUrl, { "Content-Length": theirs.length });
  // Two parts are uploaded, and the third has begun.
  await put.send(theirs.subarray(0, 20 * MIB));
  await until("two parts are held", async () => (await other.offset(uploadUrl, theirs.length)) === 16 * MIB);
  using _thaw = frozen(frozenNode);
  const sent = put.send(theirs.subarray(20 * MIB));
  const since = performance.now();
  let from = 16 * MIB;
  for (;;) {
    const answer = await other.put(uploadUrl, ours.slice(from), range(from, ours.length - 1, ours.length));
    if (answer.status === 200) break;
    if (answer.status === 409) from = answer.body.offset;
    else expect(isRefusal(answer)).toEqual({ status: 423, code: "upload_busy" });
    expect(performance.now() - since).toBeLessThan(LEASE_ENDS_MS);
    await Bun.sleep(TRY_EVERY_MS);
  }
  frozenNode.signal("SIGCONT");
  await sent;
  // Its last part may be sent now.
  await other.complete(_id);
  expect([409, 423]).toContain(await put.status());
  const expected = sha256(Buffer.concat([theirs.subarray(0, from), ours.subarray(from)]));
  expect(await hashOf(other, _id)).toBe(expected);
  await one.app.must("DELETE", `/recording/${_id}`);
});

test("a bucket with the recordings of another store: all of them stay, and the start reports it", async () => {
  const recordings = join(service.folder, "some/prefix/recordings");
  const objects = (): string[] =>
    readdirSync(recordings, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  for (let i = 0; i < 3; i++) await backends[0].record();
  const before = objects();
  expect(before.length).toBeGreaterThanOrEqual(3);
  for (const path of before) utimesSync(path, 1, 1);
  await using fresh = await startParley({ env: { PARLEY_STORAGE_URL: service.storageUrl } });
  const warning = await fresh.logged(({ level }) => level === "warn");
  expect(warning.msg).toContain("the bucket parley-test (some/prefix/) belongs to another store");
  await until("it has swept", async () =>
    (await call(`${fresh.url}/metrics`)).text.includes('parley_recording_sweeps_total{outcome="done"} 1'),
  );
  expect(objects()).toEqual(before);
});
