/** Lists of very many rooms: bounded memory, no delay for other requests, and never a partial list that looks complete. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { Application } from "../support/application.ts";
import { call, type Json } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_EXACT, IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(120_000);

/** In full as many as an application may have by default. */
const ROOMS = IS_FULL ? 200_000 : 30_000;
const ENV = { PARLEY_MAX_ROOMS_PER_APP: String(ROOMS) };
const MIB = 1024 ** 2;

let data: string;
let server: Server;
let app: Application;
beforeAll(async () => {
  data = tempFolder();
  const first = await startParley({ data, env: ENV });
  const { _id } = (await first.admin.must<{ data: { _id: string }[] }>("GET", "/apps")).data[0] ?? { _id: "" };
  await first.kill("SIGTERM");
  fill(data, _id);
  server = await startParley({ data, env: ENV });
  app = new Application(server.url, "demo", server.keys.appSecret, _id);
});
afterAll(async () => {
  await server?.stop();
  removeFolder(data);
});

/** Written directly to the database file: over HTTP it would take minutes. */
function fill(folder: string, appId: string): void {
  using database = new Database(join(folder, "parley.sqlite"));
  const add = database.prepare("INSERT INTO rooms VALUES (?, ?, ?, '{}', 1800000000000, NULL, NULL, 1)");
  database.transaction(() => {
    for (let i = 0; i < ROOMS; i++) add.run((0x60000000 + i).toString(16).padStart(24, "0"), appId, `room-${i}`);
  })();
}

/** The peak memory, in bytes. */
const peakMemory = (): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) * 1024;

test(`${ROOMS} rooms are listed completely, within bounded memory, while other requests are answered`, async () => {
  const before = peakMemory();
  let isListed = false;
  const listing = app.call<Json[]>("GET", "/rooms").finally(() => {
    isListed = true;
  });
  let slowestMs = 0;
  let asked = 0;
  while (!isListed) {
    const started = performance.now();
    expect((await call(`${server.url}/healthz`)).status).toBe(200);
    slowestMs = Math.max(slowestMs, performance.now() - started);
    asked++;
  }
  const { status, body, headers } = await listing;
  expect(status).toBe(200);
  expect(headers.get("content-type")).toStartWith("application/json");
  expect(body).toHaveLength(ROOMS);
  expect(body.at(0)?.roomName).toBe(`room-${ROOMS - 1}`);
  expect(body.at(-1)?.roomName).toBe("room-0");
  expect(new Set(body.map((room) => room._id)).size).toBe(ROOMS);
  // Without streaming it took 850 MB and blocked other requests for seconds.
  expect((peakMemory() - before) / MIB).toBeLessThan(150);
  expect(asked).toBeGreaterThan(IS_FULL ? 20 : 2);
  if (IS_EXACT) expect(slowestMs).toBeLessThan(3000);
});

test("a page of them has the total at once", async () => {
  const started = performance.now();
  const page = await app.must<{ total: number; data: Json[] }>("GET", "/rooms?limit=2");
  expect([page.total, page.data.length]).toEqual([ROOMS, 2]);
  if (IS_EXACT) expect(performance.now() - started).toBeLessThan(1000);
});

test("over the cap no room is created, and existing ones stay readable", async () => {
  const { status, body } = await app.call("POST", "/room", { roomName: "one-more" });
  expect([status, body.error.code]).toEqual([409, "room_limit_reached"]);
  expect(body.message).toContain("PARLEY_MAX_ROOMS_PER_APP");
  expect((await app.call("GET", "/room/room-7")).status).toBe(200);
});

describe("while a list is being sent", () => {
  /** Starts to read a list and stops, so that most of it waits at the server. */
  async function paused(): Promise<{ begun: string; leave: () => void; rest: () => Promise<string> }> {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    let text = "";
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => undefined);
    socket.write(
      `GET /api/v1/rooms HTTP/1.1\r\nHost: ${app.host}\r\nAuthorization: Bearer ${app.secretKey}\r\nConnection: close\r\n\r\n`,
    );
    await new Promise<void>((resolve) =>
      socket.once("data", (bytes) => {
        text += bytes.toString("latin1");
        socket.pause();
        resolve();
      }),
    );
    return {
      begun: text,
      leave: () => void socket.destroy(),
      rest: async () => {
        socket.on("data", (bytes) => {
          text += bytes.toString("latin1");
        });
        socket.resume();
        await closed;
        return text;
      },
    };
  }

  test("created and deleted rooms leave it complete, and no room is in it twice", async () => {
    const { rest } = await paused();
    await app.must("DELETE", "/room/room-0");
    await app.must("DELETE", `/room/room-${ROOMS - 1}`);
    const whole = await rest();
    const rooms = JSON.parse(dechunked(whole)) as Json[];
    expect(rooms).toHaveLength(ROOMS - 1);
    expect(new Set(rooms.map((room) => room._id)).size).toBe(ROOMS - 1);
  });

  // The bound is one of memory, for each process.
  test.skipIf(WORKERS > 1)(
    "eight are sent at once, the ninth is 429, and a reader that disconnects frees a slot",
    async () => {
      const readers = await Promise.all(Array.from({ length: 8 }, paused));
      expect(readers.map(({ begun }) => begun.slice(0, 12))).toEqual(readers.map(() => "HTTP/1.1 200"));
      const ninth = await app.call("GET", "/rooms");
      expect([ninth.status, ninth.body.error.code, ninth.headers.get("retry-after")]).toEqual([
        429,
        "rate_limited",
        "1",
      ]);
      // Pages are ordinary responses.
      expect((await app.call("GET", "/rooms?limit=5")).status).toBe(200);
      for (const { leave } of readers) leave();
      let next = await paused();
      while (next.begun.startsWith("HTTP/1.1 429")) next = await paused();
      expect(next.begun).toStartWith("HTTP/1.1 200");
      next.leave();
    },
  );

  test("revoking its key ends it, and the received part is no complete array", async () => {
    const { rest } = await paused();
    const rotated = await server.admin.must<{ secretKey: string }>("POST", "/apps/demo/secret-key/rotate", {
      graceSec: 0,
    });
    app = new Application(server.url, "demo", rotated.secretKey, app.id);
    const part = await rest();
    expect(part).toStartWith("HTTP/1.1 200 ");
    expect(part).not.toEndWith("0\r\n\r\n");
    expect(() => JSON.parse(dechunked(part))).toThrow();
  });
});

/** The decoded body of a raw chunked response. */
function dechunked(answer: string): string {
  const parts: string[] = [];
  for (let at = answer.indexOf("\r\n\r\n") + 4; ; ) {
    const lineEnd = answer.indexOf("\r\n", at);
    const size = Number.parseInt(answer.slice(at, lineEnd), 16);
    if (!(size > 0)) return parts.join("");
    parts.push(answer.slice(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
