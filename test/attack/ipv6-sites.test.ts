/** One IPv6 site has 65,536 networks (/64): it must not lock a room with them (meetings.md 2). */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, ROOMS_ENV, type Room } from "../conformance/raw/support/rooms.ts";
import { serverForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });

/** The outcome of a join from an address. */
async function joinFrom(room: Room, address: string, body: Json = {}): Promise<string> {
  const headers = { "X-Forwarded-For": address, Authorization: "" };
  const answer = await room.app.call("POST", `/room/${room.name}/join`, body, { headers });
  if (answer.status !== 200) return (answer.body.error as { code: string }).code;
  return answer.body.waiting ? "waiting" : "held";
}

const count = (outcomes: readonly string[], which: string): number => outcomes.filter((one) => one === which).length;

test("it has ten places in a lobby, and others wait too", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const outcomes = await Promise.all(
    Array.from({ length: 18 }, (_, i) => joinFrom(room, `2001:db8:77:${1 + Math.floor(i / 3)}::1`)),
  );
  expect([count(outcomes, "waiting"), count(outcomes, "lobby_full")]).toEqual([10, 8]);
  expect(await joinFrom(room, "2001:db8:78:1::1")).toBe("waiting");
  expect(await joinFrom(room, "198.51.100.7")).toBe("waiting");
});

test("it cannot hold all places of a room, and those that guests hold do not keep an admin out", async () => {
  const room = await newRoom(server);
  const token = await room.accessToken({ isAdmin: true });
  for (let i = 0; i < 6; i++) expect(await joinFrom(room, `2001:db8:77:${i}::1`)).toBe("held");
  // Two are held by the site; other guests fill the room.
  for (let i = 0; i < 4; i++) expect(await joinFrom(room, `198.51.100.${i}`)).toBe("held");
  expect(await joinFrom(room, "192.0.2.1")).toBe("room_full");
  expect(await joinFrom(room, "192.0.2.1", { token })).toBe("held");
});
