/**
 * Every credential of SECURITY.md, made and used once, and then searched for in everything that others can read: the tail, the flight recorder,
 * frames to other peers, lists, audit, metrics, pages, refusals, the log and the files.
 */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ROOMS_ENV } from "../conformance/raw/support/rooms.ts";
import { Admin } from "../support/admin.ts";
import { CREDENTIALS } from "../support/credentials.ts";
import { type Answer, call } from "../support/http.ts";
import { launchParley, startParley } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { CredentialRun } from "./support/credential-run.ts";
import { doorsOf, isOpened, namesIn } from "./support/doors.ts";

setDefaultTimeout(60_000);

/** These belong to several nodes, to a bucket or to the listener: this run has none. */
const ELSEWHERE = [
  "bucket key",
  "signed bucket address",
  "database password",
  "NATS credential",
  "TLS private key",
  // A file and no text: test/rest/backups.test.ts has who may get it.
  "backup file",
];
/** Their purpose is to hold secrets. */
const SECRET_FILES = ["first-run.txt", "master.key"];

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
const data = tempFolder();
afterAll(() => removeFolder(data));
const turnSecret = crypto.randomUUID();
const backupKey = randomBytes(32);
const env = {
  ...ROOMS_ENV,
  PARLEY_LOG_LEVEL: "debug",
  PARLEY_ADMIN_TOKEN: "",
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
  PARLEY_TURN_URLS: "turn:127.0.0.1:3478",
  PARLEY_TURN_SECRET: turnSecret,
  PARLEY_BACKUP_TO: join(data, "backups"),
  PARLEY_BACKUP_KEY: backupKey.toString("base64"),
};
const server = await startParley({ data, env });
afterAll(() => server.kill());
const run = await CredentialRun.on(server);
run.search.add("TURN secret", turnSecret);
run.search.addBytes("master key", Buffer.from(readFileSync(join(data, "master.key"), "utf8"), "base64"));
run.search.addBytes("backup key", backupKey);
await server.admin.must("POST", "/backups");
await server.logged(({ msg }) => msg === "a backup was made");
run.used.add("TURN secret").add("master key").add("backup key");

const leaksIn = (outlets: readonly { where: string; text: string | Uint8Array }[]): string[] =>
  outlets.flatMap(({ where, text }) => run.search.in(text).map((found) => `${where}: ${found}`));

test("the run has used every credential of the list", () => {
  const expected = CREDENTIALS.map(({ name }) => name).filter((name) => !ELSEWHERE.includes(name));
  expect([...run.used].sort()).toEqual(expected.sort());
});

test("others see none of them: not in the tail, lists, rosters, frames, audit, metrics, pages", () => {
  expect(leaksIn(run.outlets)).toEqual([]);
  const text = (where: string): string => run.outlets.find((one) => one.where === where)?.text ?? "";
  // What was searched is what was meant.
  for (const kind of ["connect", "renew", "publish", "send", "subscribe", "close"])
    expect(text("tail")).toContain(`"kind":"${kind}"`);
  for (const what of ["operator created", "host link made", "app secret rotated", "key rotated", "signed in"])
    expect(text("audit")).toContain(what);
  expect(run.outlets.filter(({ where }) => /peers\/ann$/.test(where)).map((one) => one.text)).toEqual(
    Array(2).fill(expect.stringContaining('"kind":"renew"')),
  );
  expect(text("frames to the host")).toContain("waitId");
  expect(text("frames to another peer")).toContain('\\"type\\":\\"direct\\"');
  expect(text("metrics")).toContain("parley_http_requests_total");
  expect(run.outlets.length).toBeGreaterThan(60);
});

test("a refusal does not repeat the credential that it refuses", () => {
  expect(leaksIn(run.refusals)).toEqual([]);
  for (const { where, status } of run.refusals)
    expect({ where, isRefused: status >= 400 && status < 500 }).toEqual({ where, isRefused: true });
  expect(run.refusals.length).toBeGreaterThan(7);
});

test("names that others see open nothing: each is refused wherever a credential is taken", async () => {
  if (!run.left) throw new Error("the run has left nothing open");
  const { room, admin, ...files } = run.left;
  // The most that a name could open: the place of a visitor who was let in and has not entered yet.
  const zoe = await room.connected(await room.join({ name: "Zoe" }));
  expect((await room.act(admin.token, { do: "admit", waitId: zoe.id })).status).toBe(200);
  await room.act(admin.token, { do: "unlock" });
  await room.app.must("PUT", `/room/${room.name}`, { enableRequestToJoin: false });
  const shown = run.outlets.filter(({ where }) => !/openapi|settings/.test(where)).map(({ text }) => text);
  const names = namesIn([JSON.stringify({ waitId: zoe.id, participantSession: admin.id }), ...shown]);
  for (const field of [
    "waitId",
    "participantSession",
    "meetingSession",
    "connectionId",
    "peerId",
    "_id",
    "keyId",
    "pos",
  ])
    expect([...names.keys()].join()).toContain(field);
  expect(names.size).toBeLessThan(60);
  const doors = doorsOf({ url: server.url, room, ...files });
  const tried = async (value: string): Promise<[string, Answer][]> =>
    Promise.all(Object.entries(doors).map(async ([door, open]) => [door, await open(value)] as [string, Answer]));
  const opened: string[] = [];
  for (const [name, value] of names)
    for (const [door, answer] of await tried(value)) {
      // A rate would say nothing about the value.
      if (isOpened(answer) || answer.status === 429) opened.push(`${name}: ${door} answered ${answer.status}`);
    }
  // A publishable key is public.
  const publicOnes = opened.filter((one) => one.startsWith("keyId of 40 characters: connect with a key"));
  expect(opened).toEqual(publicOnes);
  // The right values do open them.
  run.opens.set("join with a ticket, or an earlier token", String(zoe.join.ticket));
  expect(run.opens.size).toBeGreaterThan(11);
  for (const [door, value] of run.opens) {
    const answer = await doors[door]?.(value);
    expect([door, answer && isOpened(answer)]).toEqual([door, true]);
  }
});

test("the page of a room that does not exist takes a token out of its address", async () => {
  const html = run.outlets.find(({ where }) => where.includes("no-such-room"))?.text ?? "";
  const [, path = ""] = /<script src="([^"]+)">/.exec(html) ?? [];
  const { text: script } = await call(server.url + path);
  for (const [address, rest] of [
    ["/room?token=abc&lang=de", "/room?lang=de"],
    ["/room#token=abc&name=Ann", "/room"],
  ] as const) {
    const replaced: unknown[] = [];
    const history = { state: null, replaceState: (...args: unknown[]) => replaced.push(args) };
    new Function("location", "history", script)(new URL(address, "https://demo.example.com"), history);
    expect(replaced).toEqual([[null, "", rest]]);
  }
});

test("none is in the log at level debug, nor in a file of the data folder", async () => {
  await server.kill("SIGTERM");
  expect(server.output).toContain('"level":"debug"');
  const files = readdirSync(data, { recursive: true, encoding: "utf8" }).filter(
    (name) => statSync(join(data, name)).isFile() && !SECRET_FILES.includes(name),
  );
  expect(files).toContain("parley.sqlite");
  const outlets = files.map((where) => ({ where, text: readFileSync(join(data, where)) }));
  expect(leaksIn([{ where: "log", text: server.output }, ...outlets])).toEqual([]);
});

test.if(IS_FULL)("nor is one in the log as people read it", async () => {
  await using pretty = launchParley({ env: { ...env, PARLEY_LOG_FORMAT: "pretty" } });
  const address = (): string | undefined => /parley is ready .*?url=(\S+)/.exec(pretty.output)?.[1];
  await until("the server is ready", async () => address() !== undefined);
  pretty.url = address() ?? "";
  pretty.admin = new Admin(pretty.url, pretty.keys.adminToken);
  const { search } = await CredentialRun.on(pretty);
  expect(pretty.output).toContain("host link made");
  expect(search.in(pretty.output)).toEqual([]);
});
