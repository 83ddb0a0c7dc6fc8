/** Each flag of a room against a client that ignores the page's rules, and changes by PUT while people are inside (meetings.md 2). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Json } from "../../support/http.ts";
import { SLACK_MS } from "../../support/slack.ts";
import { newRoom, type Person, ROOMS_ENV, type Room, refusedConnect } from "./support/rooms.ts";
import { subscribe, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const { server } = await worldForTests({ env: ROOMS_ENV });

/** "Within a second", plus an allowance for a busy machine. */
const SOON_MS = 1500 + SLACK_MS;

const host = async (room: Room): Promise<Person> => room.inside({ token: await room.accessToken({ isAdmin: true }) });

const offer = (...media: readonly string[]): Json => ({
  description: { type: "offer", sdp: `v=0\r\n${media.map((kind) => `m=${kind} 9 x 1\r\na=sendrecv\r\n`).join("")}` },
});

/** "ack", or the code of the refusal, which has a sentence. */
async function said({ wire }: Person, frame: object): Promise<string> {
  const answer = await wire.request(frame);
  if (answer.type !== "error") return answer.type;
  expect(answer.message).toMatch(/^\S.*\.$/);
  return answer.code;
}

const sends = (room: Room, from: Person, to: Person, ...media: readonly string[]): Promise<string> =>
  said(from, { type: "publish", channel: room.channel(`in/${to.id}`), data: offer(...media) });
const shows = (room: Room, from: Person, state: Json): Promise<string> =>
  said(from, { type: "state", channel: room.channel("room"), state });
const writes = (room: Room, from: Person, data: unknown = { text: "hello" }): Promise<string> =>
  said(from, { type: "publish", channel: room.channel("chat"), data });

/** A PUT, and what those inside are shown of it; fails if that takes longer than it may. */
async function put(room: Room, watcher: Person, fields: Json): Promise<Json> {
  const began = performance.now();
  await room.app.must("PUT", `/room/${room.name}`, fields);
  const { data } = await watcher.wire.until("message", (frame) => (frame.data as Json).notice === "flags");
  expect(performance.now() - began).toBeLessThan(SOON_MS);
  return (data as { room: Json }).room;
}

const REFUSED = "action_not_permitted";

describe("a client that ignores the page's rules", () => {
  test("sends no video in an audio-only room, and does not say that it does", async () => {
    const room = await newRoom(server, { audioOnlyRoom: true });
    const [admin, ann] = [await host(room), await room.inside()];
    for (const person of [admin, ann]) {
      const other = person === admin ? ann : admin;
      expect(await sends(room, person, other, "audio")).toBe("ack");
      expect(await sends(room, person, other, "audio", "video")).toBe(REFUSED);
      expect(await shows(room, person, { video: true })).toBe(REFUSED);
      expect(await shows(room, person, { screen: true })).toBe(REFUSED);
      expect(await shows(room, person, { audio: true, hand: true })).toBe("ack");
    }
  });

  test("sends nothing where only admins do", async () => {
    const room = await newRoom(server, { ownerOnlyBroadcast: true });
    const [admin, ann] = [await host(room), await room.inside()];
    expect(await sends(room, ann, admin, "audio")).toBe(REFUSED);
    expect(await sends(room, ann, admin, "video")).toBe(REFUSED);
    expect(await sends(room, ann, admin)).toBe("ack");
    expect(await sends(room, admin, ann, "audio", "video")).toBe("ack");
    expect(await shows(room, ann, { audio: true })).toBe(REFUSED);
  });

  test("shares no screen beside its camera where that is switched off", async () => {
    const room = await newRoom(server, { enableScreenSharing: false });
    const [ann, ben] = [await room.inside(), await room.inside()];
    expect(await sends(room, ann, ben, "audio", "video")).toBe("ack");
    expect(await sends(room, ann, ben, "audio", "video", "video")).toBe(REFUSED);
    expect(await shows(room, ann, { screen: true })).toBe(REFUSED);
  });

  test("sends none of what its token disables", async () => {
    const room = await newRoom(server);
    const ben = await room.inside();
    const token = await room.accessToken({ disableAudio: true, disableVideo: true, disableScreenSharing: true });
    const ann = await room.inside({ token });
    for (const kind of ["audio", "video"]) expect(await sends(room, ann, ben, kind)).toBe(REFUSED);
    expect(await sends(room, ann, ben)).toBe("ack");
    for (const kind of ["audio", "video", "screen"]) expect(await shows(room, ann, { [kind]: true })).toBe(REFUSED);
  });

  test("writes nothing in a chat that is switched off, and nothing but text in one that is on", async () => {
    const silent = await newRoom(server, { enableChat: false });
    expect(await writes(silent, await silent.inside())).toBe(REFUSED);
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    await subscribe(ben.wire, room.channel("chat"));
    for (const data of [{ text: "" }, { text: "x".repeat(4001) }, { text: "x", server: true }, "x", { html: "x" }])
      expect(await writes(room, ann, data)).toBe("malformed_message");
    expect((await ben.wire.sync()).filter(({ type }) => type === "message")).toEqual([]);
    expect(await writes(room, ann, { text: "x".repeat(4000) })).toBe("ack");
  });

  test("says nothing in inboxes but signals, at most 32 KB, to people inside", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    const channel = room.channel(`in/${ben.id}`);
    await subscribe(ben.wire, channel);
    const large = { candidate: { candidate: "x".repeat(33_000) } };
    for (const data of [{ text: "x" }, { bye: 1 }, [], large, { ...offer("audio"), name: "x" }])
      expect(await said(ann, { type: "publish", channel, data })).toBe("malformed_message");
    const away = { type: "publish", channel: room.channel("in/not-an-id"), data: { bye: true } };
    expect(await said(ann, away)).toBe("peer_not_found");
    expect((await ben.wire.sync()).filter(({ type }) => type === "message")).toEqual([]);
    expect(await said(ann, { type: "publish", channel, data: { bye: true } })).toBe("ack");
    expect(await ben.wire.until("message")).toMatchObject({ from: ann.id, data: { bye: true } });
  });

  test("has no other state than the five fields", async () => {
    const room = await newRoom(server);
    const ann = await room.inside();
    for (const state of [{ name: "Boss" }, { isAdmin: true }, { audio: "yes" }])
      expect(await shows(room, ann, state)).toBe("malformed_message");
    expect(await shows(room, ann, { audio: true, video: true, screen: true, hand: true, recording: false })).toBe(
      "ack",
    );
  });
});

describe("a PUT acts on people inside within a second", () => {
  test("on the chat", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    expect(await writes(room, ann)).toBe("ack");
    expect(await put(room, ann, { enableChat: false })).toMatchObject({ enableChat: false, roomName: room.name });
    for (const person of [ann, ben]) expect(await writes(room, person)).toBe(REFUSED);
    await put(room, ann, { enableChat: true });
    for (const person of [ann, ben]) expect(await writes(room, person)).toBe("ack");
  });

  test("on what may be sent", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    expect(await sends(room, ann, ben, "video")).toBe("ack");
    await put(room, ben, { audioOnlyRoom: true });
    expect(await sends(room, ann, ben, "video")).toBe(REFUSED);
    await put(room, ben, { ownerOnlyBroadcast: true });
    expect(await sends(room, ann, ben, "audio")).toBe(REFUSED);
  });

  test("on no one's place: a lower cap puts no one out, and lets no one in", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    await put(room, ann, { maxParticipants: 1 });
    expect([ann.wire.isOver, ben.wire.isOver]).toEqual([false, false]);
    expect((await room.tryJoin()).body.error.code).toBe("room_full");
    expect((await room.tryJoin({ resume: ben.token })).status).toBe(200);
  });

  test("on a guest who holds a place and has not entered: the room is private by then, or over", async () => {
    for (const fields of [{ privacy: "private" }, { notBeforeUnixSec: 4_000_000_000 }]) {
      const room = await newRoom(server);
      const inside = await room.enter();
      const { connect } = await room.join();
      const invited = await room.join({ token: await room.accessToken({ notBeforeUnixSec: 1 }) });
      await room.app.must("PUT", `/room/${room.name}`, fields);
      expect((await refusedConnect(room.app.url, connect.token)).status).toBe(403);
      await room.connected(invited);
      await room.connected({ ...inside.join });
    }
  });

  test("with the public fields only", async () => {
    const room = await newRoom(server);
    const ann = await room.inside();
    const shown = await put(room, ann, { meetingJoinWebhook: "https://example.com/?secret=1", lang: "de" });
    expect(shown).toMatchObject({ lang: "de" });
    expect(JSON.stringify(shown)).not.toContain("secret");
  });
});
