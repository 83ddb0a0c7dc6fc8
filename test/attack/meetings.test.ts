/** Clients that want more of a meeting than they were given: other people's places, a second try, and other people's time. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  claimsOf,
  newRoom,
  type Person,
  ROOMS_ENV,
  type Room,
  refusedConnect,
} from "../conformance/raw/support/rooms.ts";
import { subscribe, tokenQuery } from "../conformance/raw/support/world.ts";
import { serverForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { until } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import { Wire } from "../support/wire/wire.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });

const host = async (room: Room): Promise<Person> => room.inside({ token: await room.accessToken({ isAdmin: true }) });
const code = async (room: Room, body: Json): Promise<string | number> => {
  const { status, body: answer } = await room.tryJoin(body);
  return status === 200 ? 200 : answer.error.code;
};

describe("a place of another person", () => {
  test("is not taken over with a token of another room, of the lobby, or one that was altered", async () => {
    const room = await newRoom(server);
    const other = await newRoom(server, {}, room.app);
    const lobby = await newRoom(server, { privacy: "private" }, room.app);
    const [ann, elsewhere, waiting] = [await room.inside(), await other.inside(), await lobby.join({ name: "Eve" })];
    const altered = ann.token.replace(/\.([^.]+)\./, (_whole, payload: string) => {
      const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Json;
      return `.${Buffer.from(JSON.stringify({ ...claims, isAdmin: true })).toString("base64url")}.`;
    });
    for (const resume of [elsewhere.token, waiting.connect.token, altered, `${ann.token}A`]) {
      const joined = await room.join({ resume });
      expect(joined.isAdmin).toBe(false);
      expect([ann.id, elsewhere.id, waiting.ticket]).not.toContain(joined.participantSession);
      const { wire } = await room.connected(joined);
      wire.close(1000);
    }
    expect((await refusedConnect(server.url, altered)).status).toBe(401);
    expect([ann.wire.isOver, elsewhere.wire.isOver]).toEqual([false, false]);
  });

  test("is not had by a token of another kind, in either direction", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const access = await room.accessToken({ isAdmin: true });
    const ann = await room.inside({ token: access });
    expect((await refusedConnect(server.url, access)).status).toBe(401);
    expect(await code(room, { token: ann.token })).toBe("invalid_access_token");
    expect((await room.act(access, { do: "lock" })).status).toBe(401);
    const key = await server.admin.createKey(room.app.id);
    expect((await room.act(key.credential, { do: "lock" })).status).toBe(401);
    expect((await room.act(room.app.secretKey, { do: "lock" })).status).toBe(401);
  });

  test("of another application's room of the same name stays closed", async () => {
    const [room, other] = [await newRoom(server), await newRoom(server)];
    await other.app.must("POST", "/room", { roomName: room.name });
    const ann = await host(room);
    const there = { name: room.name, app: other.app };
    const answer = await other.app.call("POST", `/room/${there.name}/act`, { do: "lock" }, { bearer: ann.token });
    expect([answer.status, answer.body.error.code]).toEqual([401, "invalid_token"]);
    const token = await room.accessToken({ isAdmin: true });
    const foreign = await other.app.call<Json>("POST", `/room/${there.name}/join`, { token }, { bearer: "" });
    expect(foreign.body.error.code).toBe("invalid_access_token");
  });
});

describe("a second try", () => {
  test("of a guest who was let in and removed does not succeed with the ticket", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const admin = await host(room);
    const { ticket, connect } = await room.join({ name: "Eve" });
    await room.act(admin.token, { do: "admit", waitId: claimsOf(connect.token).id });
    const eve = await room.inside({ ticket, name: "Eve" });
    await room.act(admin.token, { do: "remove", participantSession: eve.id });
    expect(await eve.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
    const retried = await room.tryJoin({ ticket, name: "Eve" });
    if (retried.status === 200 && !retried.body.waiting)
      expect((await refusedConnect(server.url, retried.body.connect.token)).status).toBeGreaterThanOrEqual(401);
    expect((await refusedConnect(server.url, eve.token)).status).toBeGreaterThanOrEqual(401);
  });

  test("of a removed admin does not succeed as the stay of a guest", async () => {
    const room = await newRoom(server);
    const admin = await host(room);
    const token = await room.accessToken({ isAdmin: true });
    const eve = await room.inside({ token });
    const unused = (await room.join({ token })).connect.token;
    await room.act(admin.token, { do: "remove", participantSession: eve.id });
    expect(await eve.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
    const guest = await room.inside({ resume: unused });
    expect(guest.join.isAdmin).toBe(false);
    expect((await refusedConnect(server.url, unused)).status).toBe(403);
    expect((await room.join({ resume: unused })).isAdmin).toBe(false);
    expect(guest.wire.isOver).toBe(false);
  });

  test("of a removed one, many times while it happens, leaves none of its connections inside", async () => {
    const room = await newRoom(server);
    const admin = await host(room);
    const token = await room.accessToken({ name: "Eve", externalUserId: "u1" });
    const eve = await room.inside({ token });
    const held = await Promise.all(Array.from({ length: 4 }, () => room.join({ token })));
    const removing = room.act(admin.token, { do: "remove", participantSession: eve.id });
    const tries = Array.from({ length: 24 }, (_, n) =>
      attempt(server.url, { query: tokenQuery(held[n % held.length]?.connect.token ?? "") }),
    );
    expect((await removing).status).toBe(200);
    // Connects before the ban may succeed: they are put out with it.
    for (const answer of await Promise.all(tries))
      if (answer instanceof Wire) expect(await answer.closed()).toMatchObject({ code: 4021 });
      else expect(answer.status).toBe(403);
    expect(await code(room, { token })).toBe("removed");
    expect((await refusedConnect(server.url, eve.token)).status).toBe(403);
    const { participants } = await room.app.must<{ participants: Json[] }>(
      "GET",
      `/meeting/${eve.join.meetingSession}`,
    );
    expect(participants.filter(({ endTime }) => endTime === undefined).map(({ _id }) => _id)).toEqual([admin.id]);
  });

  test("by two admins at once: one answer counts", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const [one, other] = [await host(room), await host(room)];
    const joined = await room.join({ name: "Eve" });
    const eve = await room.connected(joined);
    await subscribe(eve.wire, room.channel(`wait/${eve.id}`));
    const answers = await Promise.all([
      room.act(one.token, { do: "admit", waitId: eve.id }),
      room.act(other.token, { do: "decline", waitId: eve.id }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    const isDecision = (frame: { readonly data?: unknown }): boolean =>
      (frame.data as { notice?: string } | undefined)?.notice !== "hosts";
    const heard = await eve.wire.until("message", isDecision);
    expect(heard.data).toEqual({ notice: answers[0]?.status === 200 ? "admitted" : "declined" });
    // The answer may be repeated, because its page has just begun to listen; there is no other.
    const more = (await eve.wire.sync()).filter((frame) => frame.type === "message" && isDecision(frame));
    for (const frame of more) expect(frame).toMatchObject({ data: heard.data });
  });
});

describe("other people's time", () => {
  test("is not wasted by joins, acts or looks from one address", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const from = (method: string, path: string, body?: Json) =>
      room.app.call(method, `/room/${room.name}/${path}`, body, {
        headers: { "X-Forwarded-For": "198.51.100.9", Authorization: "" },
      });
    for (const [method, path, body] of [
      ["POST", "join", { name: "Eve" }],
      ["POST", "act", { do: "end" }],
    ] as const) {
      // At once, so that little of the 20 a minute is refilled meanwhile.
      const answers = await Promise.all(Array.from({ length: 45 }, () => from(method, path, body)));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThanOrEqual(4);
      expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    // Others are not affected.
    expect(await code(room, { name: "Ann" })).toBe(200);
  });

  test("is not wasted by an admin that asks for the queue without an end", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const [one, other] = [await host(room), await host(room)];
    const channel = room.channel("admin");
    await subscribe(other.wire, channel);
    await other.wire.until("message");
    const before = other.wire.frames.length;
    for (let n = 0; n < 100; n++) {
      await one.wire.request({ type: "subscribe", channel });
      await one.wire.request({ type: "unsubscribe", channel });
    }
    await other.wire.sync();
    expect(other.wire.frames.length - before).toBeLessThan(50);
  });

  test("is not wasted by signals to inboxes of no one, or by a flood of them", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    const outcomes: string[] = [];
    for (let n = 0; n < 60; n++) {
      const channel = room.channel(`in/${n.toString(16).padStart(24, "0")}`);
      const answer = await ann.wire.request({ type: "publish", channel, data: { bye: true } });
      outcomes.push(answer.type === "error" ? answer.code : answer.type);
    }
    expect([...new Set(outcomes)]).toEqual(["peer_not_found"]);
    const channel = room.channel(`in/${ben.id}`);
    // Nor does the inbox of a person take without an end what is kept for its page.
    const long = { candidate: { candidate: "x".repeat(32_000) } };
    const beganMs = performance.now();
    const sent = await Promise.all(
      Array.from({ length: 60 }, () => ann.wire.request({ type: "publish", channel, data: long })),
    );
    const answers = sent.map((answer) => (answer.type === "error" ? answer.code : answer.type));
    // 32 of them are the megabyte that a sender has in a minute.
    const refilled = Math.ceil(((performance.now() - beganMs) / 60_000) * 32);
    expect(answers.filter((one) => one === "ack").length).toBeLessThanOrEqual(32 + refilled);
    expect(answers[0]).toBe("ack");
    expect(answers).toContain("rate_limited");
    for (let n = 0; n < 800; n++) ann.wire.send({ type: "publish", channel, data: { bye: true } });
    expect(await ann.wire.closed()).toMatchObject({ code: 4011 });
    expect((await ben.wire.request({ type: "state", channel: room.channel("room"), state: {} })).type).toBe("ack");
  });

  test("is not wasted by a flood of reactions, also one of stays that come and go", async () => {
    const room = await newRoom(server);
    const ben = await room.inside();
    const channel = room.channel("reactions");
    await subscribe(ben.wire, channel);
    const react = { type: "publish", channel, data: { name: "wow" } };
    const beganMs = performance.now();
    let stays = 0;
    for (; stays < 3; stays++) {
      const eve = await room.inside();
      const answers = await Promise.all(Array.from({ length: 60 }, () => eve.wire.request(react)));
      expect(answers.map((one) => (one.type === "error" ? one.code : one.type))).toContain("rate_limited");
      eve.wire.close(1000);
      await eve.wire.closed();
    }
    const heard = (await ben.wire.sync()).filter((frame) => frame.type === "message" && frame.channel === channel);
    const refilled = Math.ceil(((performance.now() - beganMs) / 1000) * 2);
    expect(heard.length).toBeLessThanOrEqual(stays * 2 + refilled);
    expect(heard.length).toBeGreaterThanOrEqual(stays);
    expect((await ben.wire.request({ ...react, channel })).type).toBe("ack");
  });

  test("is not wasted by a waiting page that comes and goes", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const admin = await host(room);
    await subscribe(admin.wire, room.channel("admin"));
    for (let n = 0; n < 15; n++) {
      const eve = await room.connected(await room.join({ name: `Eve ${n}` }));
      eve.wire.close(1000);
      await eve.wire.closed();
    }
    await until("an empty queue", () => {
      const last = admin.wire.frames.findLast(({ type }) => type === "message") as { data?: { queue?: unknown[] } };
      return last?.data?.queue?.length === 0;
    });
    expect(admin.wire.frames.length).toBeLessThan(60);
  });
});

test("a name cannot hide who is meant, or imitate the service", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const admin = await host(room);
  await subscribe(admin.wire, room.channel("admin"));
  await room.join({ name: "\u202eevE\u2066\u0007\n\u200b <b>service</b>" });
  const { data } = await admin.wire.until(
    "message",
    ({ data: one }) => (one as { queue: unknown[] }).queue.length === 1,
  );
  const [{ name }] = (data as { queue: [{ name: string }] }).queue;
  expect(name).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
  expect(name.length).toBeLessThanOrEqual(64);
});
