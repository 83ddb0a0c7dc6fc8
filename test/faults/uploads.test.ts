/**
 * `kill -9` at random points of uploads, eight at a time. Afterwards the file of every listed recording is complete, every recording
 * whose completion was acknowledged is listed, and the storage holds no file without an owner.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CHECK_NAME, MARK_NAME } from "../../src/recordings/storage/storage.ts";
import { openSqlite, sqliteFile } from "../../src/store/open.ts";
import { Application } from "../support/application.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Backend, type Begun, type Recording, sha256, webm } from "../support/recordings.ts";
import { scratch } from "../support/temp.ts";

setDefaultTimeout(900_000);

const UPLOADS = process.env.PARLEY_TEST_FULL === "1" ? 200 : 8;
const AT_A_TIME = 8;
const KILLS_MIN = UPLOADS / 10;
const SIZE_MAX = 1_500_000;
/** How long a server lives before it is killed: from before it is warm to the length of several uploads. */
const LIFE_MS = [5, 200] as const;
/** On a machine that takes longer to start a server, servers live longer in the same measure: otherwise no upload would advance. */
const START_MS = 400;
/** With longer lives, all uploads could end before the first kill. */
const SLOWNESS_MAX = 3;
/** Sent slowly, so that most kills come in the middle of a body. */
const PIECE_BYTES = 32_768;
const PIECE_EVERY_MS = 3;
const TRY_EVERY_MS = 2;

const random = (from: number, to: number): number => from + Math.floor(Math.random() * (to - from + 1));

interface Known {
  readonly hash: string;
  completed: boolean;
  /** true: acknowledged. "maybe": requested, and the response was lost. */
  deleted: boolean | "maybe";
}

/** A server that is killed and restarted until it is asked to stay. */
class Mortal {
  server!: Promise<Server>;
  kills = 0;
  private isOver = false;
  private living: Promise<void> = Promise.resolve();
  private readonly token = crypto.randomUUID();

  constructor(private readonly data: string) {}

  begin(): void {
    this.server = this.start();
    this.living = this.live();
  }

  private start(): Promise<Server> {
    const env = { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_ADMIN_TOKEN: this.token };
    return startParley({ data: this.data, env });
  }

  private async live(): Promise<void> {
    let begun = performance.now();
    while (!this.isOver) {
      const server = await this.server;
      const slowness = Math.min(SLOWNESS_MAX, Math.max(1, (performance.now() - begun) / START_MS));
      await Bun.sleep(random(...LIFE_MS) * slowness);
      if (this.isOver) return;
      await server.kill("SIGKILL");
      this.kills++;
      begun = performance.now();
      this.server = this.start();
    }
  }

  async stay(): Promise<Server> {
    this.isOver = true;
    await this.living;
    return this.server;
  }
}

/** Retries until there is a response: if the server is dead, from the next one. */
async function stubborn<T>(mortal: Mortal, work: (server: Server) => Promise<T>): Promise<T> {
  for (;;) {
    const server = await mortal.server;
    try {
      return await work(server);
    } catch (error) {
      // The server's own end, or a truncated response: anything else is a failure.
      if (!/ECONN|closed|refused|socket|Unable to connect/i.test(String(error))) throw error;
      await Bun.sleep(TRY_EVERY_MS);
    }
  }
}

class Worker {
  private app: { name: string; secretKey: string; id: string } | undefined;

  constructor(
    private readonly mortal: Mortal,
    private readonly known: Map<string, Known>,
    private readonly apps: { name: string; secretKey: string; id: string }[],
  ) {}

  async upload(): Promise<void> {
    const bytes = webm(random(0, SIZE_MAX));
    const { _id, uploadUrl } = await this.begin();
    const one: Known = { hash: sha256(bytes), completed: false, deleted: false };
    this.known.set(_id, one);
    // Every second one does not say how many bytes it has until it is completed.
    const isOpenEnded = random(1, 2) === 1;
    await this.send(uploadUrl, bytes, isOpenEnded ? "*" : bytes.length);
    const completion = isOpenEnded ? { total: bytes.length } : {};
    const completed = await this.ask((backend) => backend.app.call("POST", `/recording/${_id}/complete`, completion));
    expect([_id, completed.status]).toEqual([_id, 200]);
    one.completed = true;
    if (random(1, 5) === 1) await this.delete(_id, one);
  }

  private async delete(id: string, one: Known): Promise<void> {
    one.deleted = "maybe";
    const { status } = await this.ask((backend) => backend.app.call("DELETE", `/recording/${id}`));
    // 404: an earlier attempt was successful.
    expect([200, 404]).toContain(status);
    one.deleted = true;
  }

  /** A lost response leaves an open upload that the test does not know; too many of them, and it uses another application. */
  private async begin(): Promise<Begun> {
    for (;;) {
      this.app ??= await this.newApp();
      const body = { room: "room", participantUsername: "ann", type: "video" };
      const answer = await this.ask((backend) => backend.app.call<Begun & object>("POST", "/recording", body));
      if (answer.status === 200) return answer.body;
      expect([answer.status, answer.body.error.code]).toEqual([409, "too_many_uploads"]);
      this.app = undefined;
    }
  }

  private async newApp(): Promise<{ name: string; secretKey: string; id: string }> {
    for (;;) {
      const made = await stubborn(this.mortal, (server) => server.admin.createApp());
      const app = { name: made.name, secretKey: made.secretKey, id: made._id };
      this.app = app;
      const { status } = await this.ask((backend) => backend.app.call("POST", "/room", { roomName: "room" }));
      // 409: an earlier attempt was successful.
      expect([200, 409]).toContain(status);
      this.apps.push(app);
      return app;
    }
  }

  /** As a good client does: queries the offset and continues from there. What was acknowledged is held, whatever happens. */
  private async send(uploadUrl: string, bytes: Uint8Array, total: number | "*"): Promise<void> {
    let acknowledged = 0;
    if (bytes.length === 0) {
      const { status } = await this.ask((backend) => backend.put(uploadUrl, bytes));
      expect(status).toBe(200);
      return;
    }
    for (;;) {
      const asked = await this.ask((backend) =>
        backend.put(uploadUrl, undefined, { "Content-Range": `bytes */${total}` }),
      );
      expect([uploadUrl, asked.status]).toEqual([uploadUrl, 200]);
      const { offset } = asked.body;
      expect(offset).toBeGreaterThanOrEqual(acknowledged);
      acknowledged = offset;
      if (offset === bytes.length) return;
      const end = Math.min(bytes.length, offset + random(1, SIZE_MAX));
      const server = await this.mortal.server;
      const headers = { "Content-Range": `bytes ${offset}-${end - 1}/${total}` };
      const answer = await this.backend(server)
        .put(uploadUrl, slowly(bytes.subarray(offset, end)), headers)
        .catch(() => undefined);
      if (answer) expect([200, 400, 409, 423]).toContain(answer.status);
      if (answer?.status === 200) acknowledged = answer.body.offset;
    }
  }

  private ask<T>(work: (backend: Backend) => Promise<T>): Promise<T> {
    return stubborn(this.mortal, (server) => work(this.backend(server)));
  }

  private backend(server: Server): Backend {
    const { name, secretKey, id } = this.app ?? { name: "", secretKey: "", id: "" };
    return new Backend(new Application(server.url, name, secretKey, id));
  }
}

function slowly(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(PIECE_EVERY_MS);
      controller.enqueue(bytes.slice(at, at + PIECE_BYTES));
      at += PIECE_BYTES;
      if (at >= bytes.length) controller.close();
    },
  });
}

const filesIn = (data: string): string[] =>
  readdirSync(join(data, "recordings"), { recursive: true, withFileTypes: true })
    // Beside the mark of the storage, a trial write of /readyz may be under way, or cut off by a kill.
    .filter((entry) => entry.isFile() && !entry.name.startsWith(MARK_NAME) && entry.name !== CHECK_NAME)
    .map((entry) => entry.name)
    .sort();

/** The server is stopped, so its store is read directly. */
async function inStore<T>(data: string, work: (sql: Bun.SQL) => Promise<T>): Promise<T> {
  const sql = await openSqlite(sqliteFile(data));
  try {
    return await work(sql);
  } finally {
    await sql.close();
  }
}

async function listed(server: Server, apps: readonly { name: string; secretKey: string; id: string }[]) {
  const all: { backend: Backend; recording: Recording }[] = [];
  for (const { name, secretKey, id } of apps) {
    const backend = new Backend(new Application(server.url, name, secretKey, id));
    for (let endId = ""; ; ) {
      const page = await backend.list({ limit: 100, ...(endId !== "" && { endId }) });
      all.push(...page.data.map((recording) => ({ backend, recording })));
      if (page.data.length === 0) break;
      endId = page.currEndId;
    }
  }
  return all;
}

test(`${UPLOADS} uploads, ${AT_A_TIME} at a time, killed at random points: listed recordings are complete, nothing is lost or without an owner`, async () => {
  using folder = scratch();
  const data = folder.path;
  const known = new Map<string, Known>();
  const apps: { name: string; secretKey: string; id: string }[] = [];
  const mortal = new Mortal(data);
  mortal.begin();
  let toDo = UPLOADS;
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      const worker = new Worker(mortal, known, apps);
      // On a fast machine all uploads can end before the first kill.
      while (toDo-- > 0 || mortal.kills <= KILLS_MIN) await worker.upload();
    }),
  );
  const server = await mortal.stay();
  console.log(`${mortal.kills} kills during ${UPLOADS - toDo - AT_A_TIME} uploads`);
  await server.kill("SIGKILL");

  const restarted = await startParley({ data, env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  const present = await listed(restarted, apps);
  const ids = present.map(({ recording }) => recording._id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { backend, recording } of present) {
    const bytes = await (await backend.fetch(await backend.link(recording._id, "download"))).bytes();
    expect([recording._id, sha256(bytes), bytes.length]).toEqual([
      recording._id,
      known.get(recording._id)?.hash as string,
      recording.sizeInBytes,
    ]);
  }
  for (const [id, { completed, deleted }] of known) {
    if (completed && deleted === false) expect(ids).toContain(id);
    if (deleted === true) expect(ids).not.toContain(id);
  }
  await restarted.kill("SIGTERM");

  // Every file in the storage belongs to a recording or an open upload.
  const open = await inStore(data, async (sql) => {
    const rows: { id: string }[] = await sql`SELECT id FROM uploads WHERE ended IS NULL`;
    return rows.map(({ id }) => id);
  });
  for (const name of filesIn(data)) expect([...ids, ...open]).toContain(name);

  // A day later open uploads are abandoned, and only recordings are left.
  await inStore(data, (sql) => sql`UPDATE uploads SET touched = touched - ${25 * 3_600_000}`);
  await using last = await startParley({ data });
  if (open.length > 0) await last.logged((line) => line.msg === "recordings swept" && line.abandoned === open.length);
  expect(filesIn(data)).toEqual(ids.toSorted());
  expect((await listed(last, apps)).length).toBe(ids.length);
});
