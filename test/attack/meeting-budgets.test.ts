/**
 * Clients that use up what a room allows (meetings.md 6): verified callers, guests and refused calls have budgets of their own. All of it comes from addresses of
 * the attacker, and each test then looks at those who should not notice.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, type Person, ROOMS_ENV, type Room } from "../conformance/raw/support/rooms.ts";
import { serverForTests } from "../support/for-tests.ts";
import type { Answer, Json } from "../support/http.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const SECRET = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const server = await serverForTests({
  env: { ...ROOMS_ENV, PARLEY_TURN_URLS: "turn:turn.example.com:3478", PARLEY_TURN_SECRET: SECRET },
});

let attackers = 0;
const attackerAddresses = (count: number): string[] => Array.from({ length: count }, () => `198.18.0.${++attackers}`);

type Method = "GET" | "POST" | "DELETE";
const callFrom = (
  room: Room,
  address: string,
  method: Method,
  path: string,
  body?: Json,
  bearer = "",
): Promise<Answer> =>
  room.app.call(method, `/room/${room.name}/${path}`, body, { bearer, headers: { "X-Forwarded-For": address } });

/** `each` calls from each address, all at once. */
async function flood(
  addresses: readonly string[],
  each: number,
  call: (address: string) => Promise<Answer>,
): Promise<number[]> {
  const answers = await Promise.all(addresses.flatMap((address) => Array.from({ length: each }, () => call(address))));
  return answers.map(({ status }) => status);
}

const host = async (room: Room): Promise<Person> => room.inside({ token: await room.accessToken({ isAdmin: true }) });

/** More calls than a rate allows: as many as a rate of 20 a minute regains in half a minute, so that also a slow machine reaches it. */
const SPARE = 10;

const FORGED = "rt_eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.AAAA";

test.each([
  ["act", "POST", "act", { do: "end" }, FORGED],
  ["act without a token", "POST", "act", { do: "end" }, ""],
  ["recording", "POST", "recording", { source: "camera" }, FORGED],
  ["the end of a recording", "DELETE", "recording", { _id: "x" }, FORGED],
  ["join", "POST", "join", { token: "x.y.z" }, ""],
  ["door", "POST", "door", { token: "x.y.z" }, ""],
] as const)(
  "refused calls of %s do not lock the room for its admin, nor for guests",
  async (_what, method, path, body, bearer) => {
    const room = await newRoom(server, { recordRoom: true });
    const token = await room.accessToken({ isAdmin: true });
    const admin = await room.inside({ token });
    const addresses = attackerAddresses(7);
    const statuses = await flood(addresses, 20 * WORKERS + SPARE, (address) =>
      callFrom(room, address, method, path, body, bearer),
    );
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(7);
    expect(statuses).not.toContain(200);
    // The admin may even share an address with the attacker.
    for (const address of ["203.0.113.1", addresses[0] ?? ""]) {
      const lock = await callFrom(room, address, "POST", "act", { do: "unlock" }, admin.token);
      const begun = await callFrom(room, address, "POST", "recording", { source: "microphone" }, admin.token);
      const ended = await callFrom(room, address, "DELETE", "recording", { _id: begun.body._id }, admin.token);
      const resumed = await callFrom(room, address, "POST", "join", { resume: admin.token });
      const second = await callFrom(room, address, "POST", "join", { token });
      const door = await callFrom(room, address, "POST", "door", { token });
      expect([lock, begun, resumed, second, door].map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      expect(ended.status).not.toBe(429);
    }
    expect((await room.tryJoin({ name: "Ann" })).status).toBe(200);
    expect((await callFrom(room, "203.0.113.2", "GET", "door")).status).toBe(200);
  },
);

test("guests use up the rate of the guests of a room, and not that of its admin or of a visitor with a ticket", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const admin = await host(room);
  const ann = await room.connected(await room.join({ name: "Ann" }));
  expect((await room.act(admin.token, { do: "admit", waitId: ann.id })).status).toBe(200);
  const addresses = attackerAddresses(7 * WORKERS + 3);
  const beganMs = performance.now();
  const seen = await flood(addresses, 20, (address) => callFrom(room, address, "GET", "door"));
  const refilled = Math.ceil((performance.now() - beganMs) / 500);
  expect(seen).toContain(429);
  expect(seen.filter((status) => status === 200).length).toBeWithin(120, 120 * WORKERS + refilled + 1);
  const token = await room.accessToken();
  // At once, because two come back every second.
  expect(await flood(["203.0.113.3", "203.0.113.4"], 20, (one) => callFrom(room, one, "GET", "door"))).toContain(429);
  expect((await callFrom(room, "203.0.113.3", "POST", "door", { token })).status).toBe(200);
  // Every place in the lobby is taken, and all addresses have used up their joins.
  const ask = (address: string): Promise<Answer> => callFrom(room, address, "POST", "join", { name: "Eve" });
  await flood(addresses, 21 * WORKERS, ask);
  const from = addresses[0] ?? "";
  expect(await flood([from], SPARE, ask)).toContain(429);
  expect((await callFrom(room, from, "POST", "join", { ticket: ann.join.ticket })).body).toMatchObject({ name: "Ann" });
  expect((await callFrom(room, from, "POST", "join", { token })).status).toBe(200);
});

test("guests who are refused use up nothing of the room's rate", async () => {
  const room = await newRoom(server, { privacy: "private", enableRequestToJoin: false });
  const refused = await flood(attackerAddresses(7 * WORKERS), 20, (address) =>
    callFrom(room, address, "POST", "join", {}),
  );
  expect(new Set(refused)).toEqual(new Set([403]));
  await room.app.must("PUT", `/room/${room.name}`, { privacy: "public" });
  expect((await room.tryJoin({ name: "Ann" })).status).toBe(200);
});

test("a ticket that is none does not get a guest past the rates of its address", async () => {
  const rooms = [await newRoom(server), await newRoom(server, { privacy: "private", enableRequestToJoin: false })];
  for (const room of rooms) {
    const made = (): Json => ({ ticket: crypto.randomUUID() });
    const seen = await flood(attackerAddresses(1), 20 * WORKERS + 2 * SPARE, (address) =>
      callFrom(room, address, "POST", "join", made()),
    );
    expect(seen.filter((status) => status === 429).length).toBeGreaterThanOrEqual(4);
  }
});

test("a network of IPv6 has the rate of a few addresses, whichever of its own it uses", async () => {
  const room = await newRoom(server);
  const addresses = Array.from({ length: 50 * (WORKERS + 1) }, (_, n) => `2001:db8:7:${n.toString(16)}::1`);
  for (const [path, body] of [
    ["join", { token: "x.y.z" }],
    ["act", { do: "end" }],
  ] as const) {
    const seen = await flood(addresses, 1, (address) => callFrom(room, address, "POST", path, body));
    expect(seen.filter((status) => status === 429).length).toBeGreaterThanOrEqual(15);
  }
  expect((await callFrom(room, "2001:db8:8::1", "POST", "join", { token: "x.y.z" })).status).toBe(400);
});

test("a verified caller is bounded too, and pays alone", async () => {
  const room = await newRoom(server);
  const [one, other] = [await host(room), await host(room)];
  const seen = await flood(attackerAddresses(1), 60 * (WORKERS + 1), (address) =>
    callFrom(room, address, "POST", "act", { do: "unlock" }, one.token),
  );
  expect(seen.filter((status) => status === 429).length).toBeGreaterThanOrEqual(4);
  expect((await room.act(other.token, { do: "unlock" })).status).toBe(200);
});

interface IceServer {
  readonly username: string;
}

test("joins that never connect gather no TURN credentials", async () => {
  const room = await newRoom(server);
  const addresses = attackerAddresses(3);
  const names = new Set<string>();
  const nowSec = Date.now() / 1000;
  for (const address of addresses)
    for (let n = 0; n < 3; n++) {
      const { body } = await callFrom(room, address, "POST", "join", { name: `Eve ${n}` });
      for (const { username } of (body.iceServers ?? []) as IceServer[]) {
        const [expiry = "", name = ""] = username.split(":");
        names.add(name);
        expect(Number(expiry) - nowSec).toBeWithin(60, 150);
      }
    }
  // coturn's user-quota counts by the name without the time.
  expect(names.size).toBe(addresses.length);
  const other = await newRoom(server, {}, room.app);
  const phone = await other.inside({ token: await other.accessToken({ externalUserId: "ann" }) });
  const tablet = await other.inside({ token: await other.accessToken({ externalUserId: "ann" }) });
  const [first, second] = [phone, tablet].map(({ welcome }) => welcome.metadata as { iceServers: IceServer[] });
  const nameOf = (servers: typeof first): string => servers?.iceServers[0]?.username.split(":")[1] ?? "";
  expect(nameOf(first)).toBe(nameOf(second));
  expect(names).not.toContain(nameOf(first));
});
