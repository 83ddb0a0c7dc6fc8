/** The lobby of private rooms (meetings.md 1, 2): with and without an admin inside, and with clients that do not wait their turn. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Json } from "../../support/http.ts";
import { until } from "../../support/wait.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { newRoom, type Person, ROOMS_ENV, type Room, refusedConnect } from "./support/rooms.ts";
import { subscribe, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const { server } = await worldForTests({ env: ROOMS_ENV });

interface Queued {
  readonly waitId: string;
  readonly name: string;
  readonly since: number;
}

/** Its id is the waitId. */
interface Visitor extends Person {
  readonly ticket: string;
}

const newLobby = (fields: Json = {}): Promise<Room> => newRoom(server, { privacy: "private", ...fields });

async function admin(room: Room): Promise<Person> {
  const person = await room.inside({ token: await room.accessToken({ isAdmin: true, name: "Host" }) });
  await subscribe(person.wire, room.channel("admin"));
  return person;
}

/** Asks to be let in, and listens for the answer. */
async function visitor(room: Room, name: string): Promise<Visitor> {
  const joined = await room.join({ name });
  expect(Object.keys(joined).sort()).toEqual(["connect", "ticket", "waiting"]);
  const person = await room.connected(joined);
  await subscribe(person.wire, room.channel(`wait/${person.id}`));
  return { ...person, ticket: String(joined.ticket) };
}

/** The queue as the service has published it, when it has these names. */
async function queue(wire: Wire, ...names: readonly string[]): Promise<readonly Queued[]> {
  const { data, from } = await wire.until("message", ({ data }) => {
    const { notice, queue: queued } = data as { notice?: string; queue?: Queued[] };
    return (
      notice === "waiting" &&
      Bun.deepEquals(
        queued?.map(({ name }) => name),
        [...names],
      )
    );
  });
  expect(from).toBe("service");
  return (data as { queue: Queued[] }).queue;
}

const isAboutHosts = ({ data }: { readonly data?: unknown }): boolean =>
  (data as { notice?: string } | undefined)?.notice === "hosts";

/** The decision; whether a host is inside is said besides. */
const answerTo = async ({ wire }: Person): Promise<unknown> =>
  (await wire.until("message", (frame) => !isAboutHosts(frame))).data;
const act = async (room: Room, { token }: Person, body: Json): Promise<unknown> => {
  const { status, body: answer } = await room.act(token, body);
  return status === 200 ? answer : (answer as { error: { code: string } }).error.code;
};

describe("with an admin inside", () => {
  test("a visitor asks, is shown, is let in, and enters as a guest with the name that was shown", async () => {
    const room = await newLobby();
    const host = await admin(room);
    await queue(host.wire);
    const eve = await visitor(room, "Eve");
    const [shown] = await queue(host.wire, "Eve");
    expect(shown).toEqual({ waitId: eve.id, name: "Eve", since: expect.any(Number) as number });
    expect(await act(room, host, { do: "admit", waitId: eve.id })).toEqual({ success: true });
    expect(await answerTo(eve)).toEqual({ notice: "admitted" });
    await queue(host.wire);
    // The page may close this connection before it joins.
    eve.wire.close(1000);
    await eve.wire.closed();
    const inside = await room.inside({ ticket: eve.ticket, name: "Boss" });
    expect(inside.join).toMatchObject({ isAdmin: false, isGuest: true, name: "Eve" });
    // One ticket is one stay: with it again, the same one goes on.
    const second = await room.inside({ ticket: eve.ticket, name: "Boss" });
    expect([second.id, second.join.name]).toEqual([inside.id, "Eve"]);
    expect(await inside.wire.closed()).toMatchObject({ code: 4021, reason: "replaced" });
  });

  test("a visitor is declined, and its ticket cannot join for a minute", async () => {
    const room = await newLobby();
    const host = await admin(room);
    const eve = await visitor(room, "Eve");
    await queue(host.wire, "Eve");
    expect(await act(room, host, { do: "decline", waitId: eve.id })).toEqual({ success: true });
    expect(await answerTo(eve)).toEqual({ notice: "declined", retryAfterSec: 60 });
    const { status, body } = await room.tryJoin({ ticket: eve.ticket });
    expect([status, body.error.code]).toEqual([403, "declined"]);
    // Otherwise a page cannot tell that it has to wait from a second decision of a host.
    expect(body.retryAfterSec).toBeWithin(50, 61);
    expect((await refusedConnect(server.url, eve.token)).status).toBe(403);
    expect(await act(room, host, { do: "admit", waitId: eve.id })).toBe("ticket_not_found");
  });

  test("a visitor whose tab goes is gone from the queue", async () => {
    const room = await newLobby();
    const host = await admin(room);
    const [eve, bob] = [await visitor(room, "Eve"), await visitor(room, "Bob")];
    await queue(host.wire, "Eve", "Bob");
    eve.wire.close(1000);
    await queue(host.wire, "Bob");
    // One that loses its network is back in its place.
    bob.wire.drop();
    const back = await room.connected(await room.join({ ticket: bob.ticket }));
    expect(back.id).toBe(bob.id);
    await subscribe(back.wire, room.channel(`wait/${bob.id}`));
    expect(await act(room, host, { do: "admit", waitId: bob.id })).toEqual({ success: true });
    expect(await answerTo(back)).toEqual({ notice: "admitted" });
  });
});

describe("without an admin", () => {
  test("a visitor is shown so, and when a host comes and goes", async () => {
    const room = await newLobby();
    const eve = await visitor(room, "Eve");
    const hosts = async (): Promise<unknown> => (await eve.wire.until("message", isAboutHosts)).data;
    expect(await hosts()).toEqual({ notice: "hosts", inside: false });
    const host = await admin(room);
    expect(await hosts()).toEqual({ notice: "hosts", inside: true });
    host.wire.close(1000);
    expect(await hosts()).toEqual({ notice: "hosts", inside: false });
  });

  test("the queue is kept, and shown to the admin that comes", async () => {
    const room = await newLobby();
    const eve = await visitor(room, "Eve");
    const host = await admin(room);
    await queue(host.wire, "Eve");
    await act(room, host, { do: "admit", waitId: eve.id });
    expect(await answerTo(eve)).toEqual({ notice: "admitted" });
  });

  test("an answer that came while the page was away is repeated when it listens", async () => {
    const room = await newLobby();
    const host = await admin(room);
    const joined = await room.join({ name: "Eve" });
    const [{ waitId } = { waitId: "" }] = await queue(host.wire, "Eve");
    await act(room, host, { do: "admit", waitId });
    const late = await room.connected(joined);
    await subscribe(late.wire, room.channel(`wait/${late.id}`));
    expect(await answerTo(late)).toEqual({ notice: "admitted" });
  });
});

test("without enableRequestToJoin there is no lobby", async () => {
  const room = await newLobby({ enableRequestToJoin: false });
  const { status, body } = await room.tryJoin({ name: "Eve" });
  expect([status, body.error.code]).toEqual([403, "token_required"]);
});

describe("forged answers", () => {
  test("a client that publishes on the channels of the lobby is refused, and nothing is shown", async () => {
    const room = await newLobby();
    const host = await admin(room);
    const member = await room.inside({ token: await room.accessToken({ name: "Member" }) });
    const [eve, bob] = [await visitor(room, "Eve"), await visitor(room, "Bob")];
    await queue(host.wire, "Eve", "Bob");
    const refusals: string[] = [];
    for (const { wire } of [host, member, eve, bob])
      for (const rest of [`wait/${eve.id}`, `wait/${bob.id}`, "admin", "room"])
        for (const data of [{ notice: "admitted" }, { notice: "waiting", queue: [] }]) {
          const answer = await wire.request({ type: "publish", channel: room.channel(rest), data });
          refusals.push(answer.type === "error" ? answer.code : "published");
        }
    expect([...new Set(refusals)].sort()).toEqual(["action_not_permitted", "channel_not_authorized"]);
    const seen = [...(await eve.wire.sync()), ...(await bob.wire.sync())];
    expect(seen.filter((frame) => !isAboutHosts(frame as { data?: unknown }))).toEqual([]);
    const { body } = await room.tryJoin({ ticket: eve.ticket });
    expect(body.waiting).toBeTrue();
  });

  test("only an admin of this room answers", async () => {
    const [room, other] = [await newLobby(), await newLobby()];
    const stranger = await admin(other);
    const member = await room.inside({ token: await room.accessToken({ name: "Member" }) });
    const eve = await visitor(room, "Eve");
    const admit = { do: "admit", waitId: eve.id };
    expect(await act(room, member, admit)).toBe("action_not_permitted");
    expect(await act(room, eve, admit)).toBe("invalid_token");
    expect(await act(room, stranger, admit)).toBe("invalid_token");
    expect(await act(other, stranger, admit)).toBe("ticket_not_found");
    expect((await room.tryJoin({ ticket: eve.ticket })).body.waiting).toBeTrue();
  });

  test("a made-up ticket is a new request, and one of another room too", async () => {
    const [room, other] = [await newLobby(), await newLobby()];
    const host = await admin(other);
    const eve = await visitor(other, "Eve");
    await act(other, host, { do: "admit", waitId: eve.id });
    for (const ticket of ["0".repeat(32), eve.ticket, eve.id, "", "'; --"]) {
      const joined = await room.join({ ticket, name: "Eve" });
      expect(joined.waiting).toBeTrue();
      expect(joined.ticket).not.toBe(ticket);
    }
  });
});

describe("flooding", () => {
  test("from one address: three wait", async () => {
    const room = await newLobby();
    const from = (address: string, body: Json = {}): Promise<{ readonly status: number; readonly body: Json }> =>
      room.app.call("POST", `/room/${room.name}/join`, body, {
        headers: { "X-Forwarded-For": address, Authorization: "" },
      });
    const answers = [];
    for (let n = 0; n < 6; n++) answers.push(await from("192.0.2.7"));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 409, 409, 409]);
    expect(answers[3]?.body).toMatchObject({ success: false, error: { code: "lobby_full" } });
    expect((await from("192.0.2.8")).status).toBe(200);
    // An IPv6 client has a whole /64.
    const six = [];
    for (let n = 0; n < 4; n++) six.push((await from(`2001:db8::${n}`)).status);
    expect(six).toEqual([200, 200, 200, 409]);
  });

  test("from many: fifty wait, and an admin inside can still be reached", async () => {
    const room = await newLobby();
    const host = await admin(room);
    const statuses = [];
    for (let n = 0; n < 56; n++) statuses.push((await room.tryJoin({ name: `visitor ${n}` })).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(50);
    expect(statuses.slice(50)).toEqual([409, 409, 409, 409, 409, 409]);
    const full = await host.wire.until("message", ({ data }) => (data as { queue: unknown[] }).queue.length === 50);
    expect(JSON.stringify(full).length).toBeLessThan(16_384);
    // Who has a token does not wait behind them.
    await room.inside({ token: await room.accessToken() });
  });
});

describe("a change of the room", () => {
  test("to public lets those in who wait; an archived one declines them", async () => {
    const room = await newLobby();
    const eve = await visitor(room, "Eve");
    await room.app.must("PUT", `/room/${room.name}`, { privacy: "public" });
    expect(await answerTo(eve)).toEqual({ notice: "admitted" });
    const other = await newLobby();
    const bob = await visitor(other, "Bob");
    await other.app.must("DELETE", `/room/${other.name}`);
    expect(await answerTo(bob)).toEqual({ notice: "declined", reason: "room_not_found", text: "The room is closed." });
    await until("the join finds no room", async () => (await other.tryJoin({ ticket: bob.ticket })).status === 404);
  });
});
