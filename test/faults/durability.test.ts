/**
 * Writers change keys while the process is killed: after each restart every change that was acknowledged is stored and in
 * effect, and none is partly stored. A change that was not acknowledged may be there or not.
 */
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, watch } from "node:fs";
import { join } from "node:path";
import { type Admin, type App, type Key, mint, type Rotated } from "../support/admin.ts";
import type { Json } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { launchParley, type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";

const KILLS = Number(process.env.PARLEY_TEST_KILLS ?? 3);
const WRITERS = 8;
/** Well below the 50 per application, so that creating never stops. */
const LIVE_KEYS_MAX = 12;
/** The process is killed after at most this many responses; drawn at random each time, so that it hits every kind of change. */
const CHANGES_MAX = 120;
/** The service keeps 20, some of which may come from an unacknowledged rotation that the test does not know. */
const RETIRED_CHECKED = 10;

setDefaultTimeout(30_000 + KILLS * 20_000);

/** A key's state according to the responses. */
interface Known {
  readonly keyId: string;
  label: string | null;
  patterns: string[];
  secret: string;
  /** Previous secrets that are still in their grace period. */
  previous: string[];
  retired: string[];
  revoked: boolean;
  /** A change of it was requested and not acknowledged. */
  unsure: Change | undefined;
}

const newKey = (keyId: string, label: string | null, secret: string): Known => ({
  keyId,
  label,
  patterns: ["a"],
  secret,
  previous: [],
  retired: [],
  revoked: false,
  unsure: undefined,
});

type Change = "edit" | "rotate" | "retire" | "revoke";

class Writer {
  readonly keys: Known[] = [];
  /** Creations that were not acknowledged: that many keys may exist that the test does not know. */
  unansweredCreations = 0;

  constructor(readonly app: string) {}

  /** Makes one change after the other until the server is gone. `answered` is called after each. */
  async work(admin: Admin, answered: () => void): Promise<void> {
    for (;;) {
      try {
        await this.change(admin);
      } catch (error) {
        if (error instanceof UnexpectedAnswer) throw error;
        return;
      }
      answered();
    }
  }

  private async change(admin: Admin): Promise<void> {
    const live = this.keys.filter((key) => !key.revoked);
    const key = live[Math.floor(Math.random() * live.length)];
    const dice = Math.random();
    if (!key || (live.length < LIVE_KEYS_MAX && dice < 0.3)) await this.create(admin);
    else if (dice < 0.5) await this.edit(admin, key);
    else if (dice < 0.85) await this.rotate(admin, key);
    else await this.revoke(admin, key);
  }

  private async create(admin: Admin): Promise<void> {
    const label = crypto.randomUUID();
    this.unansweredCreations++;
    const body = { app: this.app, type: "secret", channelPatterns: ["a"], actions: ["publish"], label };
    const { keyId, secret } = await answered<Key & { secret: string }>(admin, "POST", "/signalling/keys", body);
    this.unansweredCreations--;
    this.keys.push(newKey(keyId, label, secret));
  }

  private async edit(admin: Admin, key: Known): Promise<void> {
    const fields = { label: crypto.randomUUID(), channelPatterns: [crypto.randomUUID(), "b/**"] };
    key.unsure = "edit";
    await answered(admin, "PATCH", `/signalling/keys/${key.keyId}`, fields);
    key.label = fields.label;
    key.patterns = fields.channelPatterns;
    key.unsure = undefined;
  }

  private async rotate(admin: Admin, key: Known): Promise<void> {
    // Five may be in their grace period at once; after that, retirePrevious as after a leak.
    const retirePrevious = key.previous.length === 5 || Math.random() < 0.2;
    key.unsure = retirePrevious ? "retire" : "rotate";
    const path = `/signalling/keys/${key.keyId}/rotate`;
    const { secret } = await answered<Rotated>(admin, "POST", path, { retirePrevious });
    const earlier = [key.secret, ...key.previous];
    if (retirePrevious) key.retired = [...earlier, ...key.retired].slice(0, RETIRED_CHECKED);
    key.previous = retirePrevious ? [] : earlier;
    key.secret = secret;
    key.unsure = undefined;
  }

  private async revoke(admin: Admin, key: Known): Promise<void> {
    key.unsure = "revoke";
    await answered(admin, "DELETE", `/signalling/keys/${key.keyId}`);
    key.revoked = true;
    key.unsure = undefined;
  }
}

class UnexpectedAnswer extends Error {}

async function answered<T>(admin: Admin, method: string, path: string, body?: Json): Promise<T> {
  const answer = await admin.call<T>(method, path, body);
  if (answer.status !== 200) throw new UnexpectedAnswer(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

test(`${KILLS} times kill -9 under ${WRITERS} writers: acknowledged changes are stored, and none is partly stored`, async () => {
  using folder = scratch();
  const data = folder.path;
  const env = { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_DEMO: "off" };
  let writers: Writer[] = [];
  let changes = 0;
  for (let kills = 0; ; kills++) {
    await using server = await startParley({ data, env });
    // The start warns about secrets that the master key does not open.
    expect(server.log.filter((line) => line.level === "error")).toEqual([]);
    if (kills === 0) writers = await makeWriters(server.admin);
    for (const writer of writers) await expectKept(server, writer);
    if (kills === KILLS) break;
    changes += await changesUntilKilled(server, writers);
    expectWhole(data);
  }
  expect(changes).toBeGreaterThanOrEqual(KILLS);
});

async function makeWriters(admin: Admin): Promise<Writer[]> {
  const writers: Writer[] = [];
  for (let i = 0; i < WRITERS; i++) writers.push(new Writer((await admin.createApp())._id));
  return writers;
}

/** All writers at once, with a kill in between. Returns how many changes were acknowledged. */
async function changesUntilKilled(server: Server, writers: readonly Writer[]): Promise<number> {
  const wanted = 1 + Math.floor(Math.random() * CHANGES_MAX);
  const enough = Promise.withResolvers<void>();
  let changes = 0;
  const working = Promise.all(
    writers.map((writer) =>
      writer.work(server.admin, () => {
        if (++changes === wanted) enough.resolve();
      }),
    ),
  );
  await Promise.race([enough.promise, working]);
  await server.kill("SIGKILL");
  await working;
  return changes;
}

/** The files as the kill left them, before the server could repair them. */
function expectWhole(data: string): void {
  using folder = scratch();
  const copy = folder.path;
  for (const name of ["parley.sqlite", "parley.sqlite-wal"])
    if (existsSync(join(data, name))) copyFileSync(join(data, name), join(copy, name));
  using db = new Database(join(copy, "parley.sqlite"));
  expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  expect(db.query("PRAGMA foreign_key_check").all()).toEqual([]);
  const halves = db
    .query(
      `SELECT k.id FROM keys k LEFT JOIN key_secrets s ON s.key_id = k.id AND s.ends IS NULL
       WHERE k.type = 'secret' GROUP BY k.id, k.revoked HAVING COUNT(s.seq) <> CASE WHEN k.revoked IS NULL THEN 1 ELSE 0 END`,
    )
    .all();
  expect(halves).toEqual([]);
}

async function expectKept(server: Server, writer: Writer): Promise<void> {
  const listed = new Map((await server.admin.keys(writer.app)).map((key) => [key.keyId, key]));
  for (const known of writer.keys) {
    const shown = listed.get(known.keyId);
    listed.delete(known.keyId);
    if (!shown) throw new Error(`the key ${known.keyId} was answered and is gone`);
    if (known.unsure) await settle(server, known, shown);
    expect({ label: shown.label, patterns: shown.channelPatterns, revoked: shown.revoked !== null }).toEqual({
      label: known.label,
      patterns: known.patterns,
      revoked: known.revoked,
    });
    await expectSecrets(server, known);
  }
  await adopt(server, writer, [...listed.values()]);
}

/** Each secret does what its state allows, and none responds 503. */
async function expectSecrets(server: Server, known: Known): Promise<void> {
  const { keyId, revoked } = known;
  const checks: [string, string | undefined][] = [
    ...[known.secret, ...known.previous].map((secret): [string, string | undefined] => [
      secret,
      revoked ? "invalid_token" : undefined,
    ]),
    ...known.retired.map((secret): [string, string] => [secret, revoked ? "invalid_token" : "token_expired"]),
  ];
  for (const [secret, error] of checks) {
    const { status } = await mint(server.url, `${keyId}:${secret}`);
    expect({ keyId, status }).toEqual({ keyId, status: error ? 401 : 200 });
    const checked = await server.admin.check(selfSigned(keyId, secret));
    expect({ keyId, valid: checked.valid, error: checked.error }).toEqual({ keyId, valid: !error, error });
  }
}

/** Finds out which of its two outcomes an unacknowledged change had, and updates the expected state. */
async function settle(server: Server, known: Known, shown: Key): Promise<void> {
  const change = known.unsure;
  known.unsure = undefined;
  if (change === "revoke") known.revoked = shown.revoked !== null;
  else if (change === "edit") {
    // Both fields or neither.
    if (shown.label !== known.label) expect(shown.channelPatterns).not.toEqual(known.patterns);
    known.label = shown.label;
    known.patterns = shown.channelPatterns;
  } else {
    const { status } = await mint(server.url, `${known.keyId}:${known.secret}`);
    expect(change === "retire" ? [200, 401] : [200]).toContain(status);
    // No one received the new secret, if there is one: rotating once more gives one that the test knows.
    const { secret } = await server.admin.rotate(known.keyId, { retirePrevious: true });
    known.retired = [known.secret, ...known.previous, ...known.retired].slice(0, RETIRED_CHECKED);
    known.previous = [];
    known.secret = secret;
  }
}

/** Keys whose creation was not acknowledged: no more than were requested, each complete. Rotating makes their secret known. */
async function adopt(server: Server, writer: Writer, unknown: readonly Key[]): Promise<void> {
  expect(unknown.length).toBeLessThanOrEqual(writer.unansweredCreations);
  writer.unansweredCreations = 0;
  for (const { keyId, label, channelPatterns, revoked } of unknown) {
    expect({ channelPatterns, revoked }).toEqual({ channelPatterns: ["a"], revoked: null });
    const { secret } = await server.admin.rotate(keyId, { retirePrevious: true });
    const known = newKey(keyId, label, secret);
    await expectSecrets(server, known);
    writer.keys.push(known);
  }
}

test.each(["parley.sqlite", "master.key", "parley.sqlite-wal", "first-run.txt"])(
  "a first start that is killed when %s appears is repeated completely",
  async (name) => {
    using folder = scratch();
    const data = folder.path;
    const appeared = Promise.withResolvers<void>();
    const watcher = watch(data, (_event, file) => {
      if (file === name) appeared.resolve();
    });
    await using killed = launchParley({ data });
    await Promise.race([appeared.promise, killed.exited]);
    watcher.close();
    await killed.kill("SIGKILL");

    await using restarted = await startParley({ data });
    expect((await restarted.admin.must<{ data: App[] }>("GET", "/apps")).data.map((app) => app.name)).toEqual(["demo"]);
    const { publishableKey, secretKey, appSecret } = restarted.keys;
    expect((await mint(restarted.url, secretKey)).status).toBe(200);
    expect((await restarted.admin.key(publishableKey)).revoked).toBeNull();
    expect(await restarted.admin.must<Json>("GET", "/apps/demo/secret-key")).toEqual({ secretKey: appSecret });
    expect((await restarted.admin.keys("demo")).length).toBe(2);
  },
);
