/** docs/recordings-api.md: its commands, pasted into a shell, and its table of errors. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { CODES, type Code } from "../../src/protocol/codes.ts";
import { Room } from "../conformance/raw/support/rooms.ts";
import { Application } from "../support/application.ts";
import { type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { block, readPage } from "./support/page.ts";
import { type Expected, hold, paste } from "./support/shell.ts";

const PAGE = "docs/recordings-api.md";

setDefaultTimeout(60_000);

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
  { command: /recordings list/, holds: ({ out }) => expect(out).toMatch(/studio +audio +alice +.* +30 B/) },
  { command: /recordings download/, holds: ({ out }) => expect(out).toMatch(/^file +\S*fetched\.ogg\nbytes +30$/m) },
];

test("every command of the page does what it says", async () => {
  using folder = scratch();
  const { host } = new URL(server.url);
  const script = block(PAGE, "sh", "Upload, list, download and delete with curl")
    .replaceAll("localhost:8080", `localhost:${new URL(server.url).port}`)
    .replaceAll("data/first-run.txt", `${server.data}/first-run.txt`)
    .replaceAll(/(?<=[\s@>])(take|copy|fetched)\.ogg/g, `${folder.path}/$1.ogg`);
  expect(script).toContain(folder.path);
  hold(await paste(script, { PARLEY_URL: `http://${host}` }), EXPECTED);
});

test("when someone spoke is sent with an upload, and read with its recording", async () => {
  const app = new Application(server.url, "demo", server.keys.appSecret, "");
  await app.must("POST", "/room", { roomName: "studio-spoken" });
  const script = block(PAGE, "sh", "Thumbnails and speech")
    .replaceAll("localhost:8080", `localhost:${new URL(server.url).port}`)
    .replaceAll('"studio"', '"studio-spoken"');
  const intervals = [
    [0, 1500],
    [4000, 9200],
  ];
  hold(await paste(script, { APP_SECRET: server.keys.appSecret }), [
    nothing(/^BEGUN=/),
    nothing(/^ID=/),
    nothing(/^UPLOAD_URL=/),
    answer(/speech\?/, { success: true }),
    answer(/OggS/, { offset: 14 }),
    answer(/\/complete/, { participantUsername: "bob", speechMs: 6700 }),
    answer(/\$ID\/speech/, { participantUsername: "bob", intervals }),
  ]);
});

test("a meeting is recorded and not any more, and without a meeting there is nothing to record", async () => {
  const app = new Application(server.url, "demo", server.keys.appSecret, "");
  const { _id } = await app.must<{ _id: string }>("POST", "/room", { roomName: "studio-live" });
  const script = block(PAGE, "sh", "Start and stop recording a meeting")
    .replaceAll("localhost:8080", `localhost:${new URL(server.url).port}`)
    .replaceAll("/studio/", "/studio-live/");
  const env = { APP_SECRET: server.keys.appSecret };
  const missing = (command: RegExp): Expected =>
    answer(command, { success: false, error: { code: "meeting_not_found" } });
  hold(await paste(script, env), [missing(/start/), missing(/stop/)]);
  const { wire } = await new Room(app, "studio-live", _id).inside({ name: "Ann" });
  hold(await paste(script, env), [
    answer(/start/, { success: true, recording: true }),
    answer(/stop/, { success: true, recording: false }),
  ]);
  wire.close();
});

test("its table of errors has the statuses that they have", () => {
  const rows = [...readPage(PAGE).matchAll(/^\| (\d{3}) \| ((?:`\w+`(?:, )?)+) \|/gm)];
  expect(rows.length).toBeGreaterThan(10);
  for (const [, status, codes = ""] of rows)
    for (const [, code] of codes.matchAll(/`(\w+)`/g))
      expect([code, CODES[code as Code].status]).toEqual([code, Number(status)]);
});
