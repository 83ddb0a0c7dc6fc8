/** docs/recordings.md: its commands, pasted into a shell, its table of errors, and its query plans. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { CODES, type Code } from "../../src/protocol/codes.ts";
import { openStore } from "../../src/store/open.ts";
import type { RecordingFilter } from "../../src/store/recordings.ts";
import { pageOf, totalOf } from "../../src/store/sql-listing.ts";
import { type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { block, readPage } from "./support/page.ts";
import { type Expected, hold, paste } from "./support/shell.ts";

const PAGE = "docs/recordings.md";

let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server.stop());

const json = (text: string): Record<string, unknown> => JSON.parse(text);
const nothing = (command: RegExp): Expected => ({ command, holds: () => undefined });
const answer = (command: RegExp, fields: object): Expected => ({
  command,
  holds: ({ out }) => expect(json(out)).toMatchObject(fields),
});

const EXPECTED: readonly Expected[] = [
  nothing(/^export APP_SECRET=/),
  answer(/"studio"/, { roomName: "studio" }),
  nothing(/^printf/),
  nothing(/^BEGUN=/),
  nothing(/^ID=/),
  nothing(/^UPLOAD_URL=/),
  answer(/bytes 0-9\/30/, { offset: 10 }),
  answer(/bytes \*\/30/, { offset: 10 }),
  answer(/bytes 10-29\/30/, { offset: 30 }),
  answer(/\/complete/, { participantUsername: "alice", sizeInBytes: 30, fileName: expect.stringMatching(/\.ogg$/) }),
  answer(/recordings\?room=studio&type=audio/, { total: 1, limit: 10, data: [{ type: "audio" }] }),
  nothing(/^LINK=/),
  nothing(/copy\.ogg$/),
  nothing(/^cmp/),
  { command: /Range: bytes=0-3/, holds: ({ out }) => expect(out).toBe("OggS") },
  answer(/DELETE .*recording\/\$ID/, { success: true }),
  answer(/DELETE .*recordings\?room=studio/, { success: true, deleted: 0 }),
  nothing(/^export PARLEY_APP_SECRET=/),
  { command: /recordings upload/, holds: ({ out }) => expect(out).toMatch(/^bytes +30$/m) },
  { command: /recordings list/, holds: ({ out }) => expect(out).toMatch(/audio +alice +30 B/) },
  { command: /recordings download/, holds: ({ out }) => expect(out).toMatch(/^file +\S*fetched\.ogg\nbytes +30$/m) },
];

test("every command of the page does what it says", async () => {
  using folder = scratch();
  const { host } = new URL(server.url);
  const script = block(PAGE, "sh", "To copy and paste")
    .replaceAll("localhost:8080", `localhost:${new URL(server.url).port}`)
    .replaceAll("data/first-run.txt", `${server.data}/first-run.txt`)
    .replaceAll(/(?<=[\s@>])(take|copy|fetched)\.ogg/g, `${folder.path}/$1.ogg`);
  expect(script).toContain(folder.path);
  hold(await paste(script, { PARLEY_URL: `http://${host}` }), EXPECTED);
});

test("its table of errors has the statuses that they have", () => {
  const rows = [...readPage(PAGE).matchAll(/^\| (\d{3}) \| ((?:`\w+`(?:, )?)+) \|/gm)];
  expect(rows.length).toBeGreaterThan(10);
  for (const [, status, codes = ""] of rows)
    for (const [, code] of codes.matchAll(/`(\w+)`/g))
      expect([code, CODES[code as Code].status]).toEqual([code, Number(status)]);
});

/** A value for each filter; the store is empty, so that every way is short. */
const VALUES: RecordingFilter = {
  room: "r",
  meetingSession: "m",
  participantSession: "p",
  participantUsername: "u",
  type: "video",
  startedAfter: 1,
};

test("its query plans are the plans", async () => {
  using folder = scratch();
  const store = await openStore(folder.path);
  const { sql } = (store as unknown as { database: { sql: Bun.SQL } }).database;
  const asked: { text: string; values: unknown[] }[] = [];
  const spy = new Proxy(sql, {
    get: (target, name) =>
      name === "unsafe"
        ? (text: string, values: unknown[]) => {
            asked.push({ text, values });
            return target.unsafe(text, values);
          }
        : Reflect.get(target, name),
  });
  const plan = async (): Promise<string[]> => {
    const { text, values } = asked.at(-1) ?? { text: "", values: [] };
    const rows: { detail: string }[] = await sql.unsafe(`EXPLAIN QUERY PLAN ${text}`, values);
    return rows.map(({ detail }) => detail);
  };
  const rows = [...readPage(PAGE).matchAll(/^\| (none|`[^|]+`) \| `(SEARCH [^`]+)`(, sorted)?/gm)];
  expect(rows.length).toBe(14);
  for (const [, names = "", wanted = "", sorted] of rows) {
    const keys = [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name as keyof RecordingFilter);
    const filter = Object.fromEntries(keys.map((key) => [key, VALUES[key]])) as RecordingFilter;
    await pageOf(spy, "app", { filter, order: "desc", limit: 50, behind: 7 });
    const page = await plan();
    const inner = sorted || keys.length === 0 ? wanted : wanted.replace(/\)$/, " AND seq<?)");
    expect(page).toContain(keys.length === 0 ? wanted.replace("app=?", "app=? AND seq<?") : inner);
    expect(page.some((line) => line.includes("TEMP B-TREE"))).toBe(sorted !== undefined);
    if (keys.length === 0) continue;
    await totalOf(spy, "app", filter);
    expect(await plan()).toEqual([wanted]);
  }
  await store.close();
});
