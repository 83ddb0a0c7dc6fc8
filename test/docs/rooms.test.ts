/** docs/rooms.md: its commands are pasted into a shell, and its table of fields is compared with the source. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { FIELD_NAMES, fieldOf } from "../../src/rooms/fields.ts";
import { type Server, startParley } from "../support/parley.ts";
import { block, readPage } from "./support/page.ts";
import { type Expected, hold, paste } from "./support/shell.ts";

const PAGE = "docs/rooms.md";

let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server.stop());

const json = (text: string): Record<string, unknown> => JSON.parse(text);
const nothing = (command: RegExp): Expected => ({ command, holds: () => undefined });
const record = (command: RegExp, fields: object): Expected => ({
  command,
  holds: ({ out }) => expect(json(out)).toMatchObject(fields),
});

const EXPECTED: readonly Expected[] = [
  nothing(/^export APP_SECRET=/),
  record(/secretKey=.*planning/, { roomName: "planning", privacy: "public", archived: false }),
  record(/"board"/, { roomName: "board", privacy: "private", expireUnixSec: 1_956_528_000, deleteOnExp: true }),
  record(/room\/board/, { roomName: "board" }),
  {
    command: /v1\/rooms -H/,
    holds: ({ out }) => {
      const rooms = JSON.parse(out) as { roomName: string }[];
      expect(rooms.map((room) => room.roomName)).toEqual(["board", "planning"]);
    },
  },
  record(/limit=1/, { total: 2, limit: 1, data: [{ roomName: "board" }] }),
  record(/PUT .*"daily"/, { roomName: "daily", maxParticipants: 12 }),
  {
    command: /PUT .*maxParticipants=0/,
    holds: ({ out }) => {
      expect(json(out)).toMatchObject({ roomName: "daily", enableChat: false });
      expect(json(out)).not.toHaveProperty("maxParticipants");
    },
  },
  nothing(/^TOKEN=/),
  record(/validate/, {
    success: true,
    valid: true,
    data: { roomName: "board", name: "Alice", isAdmin: true, appName: "demo" },
  }),
  {
    command: /DELETE/,
    holds: ({ out }) => expect(json(out)).toEqual({ success: true, message: "Room successfully archived" }),
  },
  { command: /rooms create/, holds: ({ out }) => expect(out).toMatch(/^expireUnixSec +2032-01-31 18:00:00Z$/m) },
  { command: /rooms list/, holds: ({ out }) => expect(out).toMatch(/^retro +\w{24} +private/m) },
  { command: /rooms check/, holds: ({ out }) => expect(out).toMatch(/^token +good$/m) },
  { command: /rooms delete/, holds: ({ out }) => expect(out).toContain("archived") },
];

test("a refused field is answered as the page shows it", async () => {
  const { port } = new URL(server.url);
  const response = await fetch(`${server.url}/api/v1/room`, {
    method: "POST",
    headers: { Host: `demo.localhost:${port}`, Authorization: `Bearer ${server.keys.appSecret}` },
    body: JSON.stringify({ lang: "not a language" }),
  });
  const shown = json(block(PAGE, "json"));
  expect(await response.json()).toEqual({ ...shown, requestId: expect.stringMatching(/^[\w-]{36}$/) });
});

test("every command of the page does what it says", async () => {
  const { port } = new URL(server.url);
  const script = block(PAGE, "sh", "Examples")
    .replaceAll("localhost:8080", `localhost:${port}`)
    .replaceAll("data/first-run.txt", `${server.data}/first-run.txt`);
  hold(await paste(script, { PARLEY_URL: server.url, PARLEY_DATA: server.data }), EXPECTED);
});

test("without a resolver that knows demo.localhost, each of the alternatives does the same", async () => {
  const { port } = new URL(server.url);
  const script = block(PAGE, "sh", "If demo.localhost is not found").replaceAll("localhost:8080", `localhost:${port}`);
  const outcomes = await paste(script, { APP_SECRET: server.keys.appSecret });
  expect(outcomes).toHaveLength(3);
  for (const { out } of outcomes) expect(JSON.parse(out)).toEqual(JSON.parse(outcomes[0]?.out ?? ""));
  expect(JSON.parse(outcomes[0]?.out ?? "")).toBeArray();
});

test("its table has every field, with its default and its meaning", () => {
  const rows = readPage(PAGE)
    .split("\n")
    .filter((line) => /^\| `\w+` \| (none|`\w+`(, always shown)?) \| /.test(line));
  const expected = FIELD_NAMES.map((name) => {
    const { initial, always, meaning } = fieldOf(name);
    const shown = initial === undefined ? "none" : `\`${initial}\`${always ? ", always shown" : ""}`;
    return `| \`${name}\` | ${shown} | ${meaning} |`;
  });
  expect(rows).toEqual(expected);
});
