/** `deleteOnExp`: rooms are archived at their expiry, also when the service was down at that time. */
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { Application, expectAppRefusal } from "../support/application.ts";
import { call, type Json } from "../support/http.ts";
import { nowSeconds } from "../support/jwt.ts";
import { type Server, startParley } from "../support/parley.ts";
import { until as polled } from "../support/wait.ts";

setDefaultTimeout(60_000);

const demoOf = (server: Server, secretKey = server.keys.appSecret): Application =>
  new Application(server.url, "demo", secretKey);

const until = (unixSeconds: number): Promise<void> => Bun.sleep(Math.max(0, unixSeconds * 1000 - Date.now()));

const expired = async (server: Server): Promise<number> =>
  Number(/^parley_rooms_expired_total (\d+)$/m.exec((await call(`${server.url}/metrics`)).text)?.[1]);

async function whenExpired(server: Server, count: number): Promise<void> {
  await polled(`${count} rooms have expired`, async () => (await expired(server)) >= count);
}

/** The names of archived rooms, with the server stopped. */
function archived(data: string): string[] {
  const database = new Database(`${data}/parley.sqlite`, { readonly: true });
  const rows = database.query("SELECT name FROM rooms WHERE archived IS NOT NULL ORDER BY name").all() as Json[];
  database.close();
  return rows.map((row) => String(row.name));
}

test.concurrent("a room exists until its expiry, then is gone and its name is free; without deleteOnExp it stays", async () => {
  await using server = await startParley();
  const demo = demoOf(server);
  const at = nowSeconds() + 3;
  await demo.must("POST", "/room", { roomName: "goes", expireUnixSec: at, deleteOnExp: true });
  await demo.must("POST", "/room", { roomName: "stays", expireUnixSec: at });
  const { status } = await demo.call("GET", "/room/goes");
  // A busy machine may have taken all of that time.
  if (Date.now() < at * 1000) expect(status).toBe(200);
  await until(at);
  expectAppRefusal(await demo.call("GET", "/room/goes"), 404, "room_not_found");
  expect((await demo.must<Json[]>("GET", "/rooms")).map((room) => room.roomName)).toEqual(["stays"]);
  // Archived in the store at that moment, not at the next check ten seconds later.
  await whenExpired(server, 1);
  expect(Date.now() - at * 1000).toBeLessThan(8000);
  await demo.must("POST", "/room", { roomName: "goes" });
});

test.concurrent("edits set, move and remove the expiry", async () => {
  await using server = await startParley();
  const demo = demoOf(server);
  const at = nowSeconds() + 4;
  for (const roomName of ["sooner", "later", "never"])
    await demo.must("POST", "/room", {
      roomName,
      expireUnixSec: roomName === "sooner" ? at + 600 : at,
      deleteOnExp: true,
    });
  await demo.must("PUT", "/room/sooner", { expireUnixSec: at });
  await demo.must("PUT", "/room/later", { expireUnixSec: at + 600 });
  await demo.must("PUT", "/room/never", { deleteOnExp: false });
  await until(at);
  await whenExpired(server, 1);
  const names = (await demo.must<Json[]>("GET", "/rooms")).map((room) => room.roomName);
  expect(names).toEqual(["never", "later"]);
});

test.concurrent("a time that has passed already archives at once", async () => {
  await using server = await startParley();
  const demo = demoOf(server);
  await demo.must("POST", "/room", { roomName: "old", expireUnixSec: nowSeconds() - 100, deleteOnExp: true });
  expect((await demo.call("GET", "/room/old")).status).toBe(404);
  await demo.must("POST", "/room", { roomName: "old" });
  await demo.must("PUT", "/room/old", { expireUnixSec: nowSeconds() - 1, deleteOnExp: true });
  expect((await demo.call("PUT", "/room/old", {})).status).toBe(404);
  await whenExpired(server, 2);
});

test.concurrent("rooms that expired while the service was down are archived at its start", async () => {
  const server = await startParley();
  const demo = demoOf(server);
  const at = nowSeconds() + 3600;
  for (let i = 0; i < 5; i++)
    await demo.must("POST", "/room", { roomName: `r${i}`, expireUnixSec: at, deleteOnExp: i < 4 });
  await server.kill();
  expect(archived(server.data)).toEqual([]);
  // The hour passes while it is down.
  {
    using database = new Database(`${server.data}/parley.sqlite`);
    expect(
      database.run("UPDATE rooms SET archive_at = archive_at - 3600000 WHERE archive_at = ?", [at * 1000]).changes,
    ).toBe(4);
  }
  const restarted = await startParley({ data: server.data });
  expect(await expired(restarted)).toBe(4);
  expect((await demoOf(restarted, demo.secretKey).must<Json[]>("GET", "/rooms")).map((room) => room.roomName)).toEqual([
    "r4",
  ]);
  await restarted.kill("SIGTERM");
  expect(archived(server.data)).toEqual(["r0", "r1", "r2", "r3"]);
  await server.stop();
});

test("thousands of rooms expire at once while the service answers requests", async () => {
  const server = await startParley({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  const demo = demoOf(server);
  await demo.must("POST", "/room", { roomName: "stays" });
  await server.kill("SIGTERM");
  const database = new Database(`${server.data}/parley.sqlite`);
  const { id } = database.query("SELECT id FROM apps").get() as { id: string };
  const insert = database.prepare("INSERT INTO rooms VALUES (?, ?, ?, '{}', 0, 1, NULL, 1)");
  database.transaction(() => {
    for (let i = 0; i < 3000; i++) insert.run(`x${i}`, id, `n${i}`);
  })();
  insert.finalize();
  database.close();
  const restarted = await startParley({ data: server.data });
  expect((await demoOf(restarted, demo.secretKey).must<Json[]>("GET", "/rooms")).length).toBe(1);
  await whenExpired(restarted, 3000);
  expect(await expired(restarted)).toBe(3000);
  await restarted.stop();
  await server.stop();
});
