import { describe, expect, spyOn, test } from "bun:test";
import type { RoomRefusal } from "../../access/tokens/room-access.ts";
import { RoomAccess } from "../../access/tokens/room-access.ts";
import type { RoomClaims, RoomSeat } from "../../access/tokens/room-token.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { CHAT_LINE_MAX_BYTES, CHAT_MAX_CHARS } from "../../protocol/chat-text.ts";
import { adminChannel, chatChannel, inboxChannel, roomChannel, waitChannel } from "../../protocol/room-channels.ts";
import type { FieldValues } from "../../rooms/fields.ts";
import type { MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import {
  CHAT_LINES_OF_GUESTS,
  OWN_CHAT_LINES,
  SENDER_SIGNALS_BYTES_PER_MINUTE,
  SIGNAL_MAX_BYTES,
} from "../contract/limits.ts";
import { Present } from "../stays/present.ts";
import { FakeFloors } from "../testing/fake-floor.ts";
import { Signals } from "./signals.ts";

const APP = anAppId("app");

const ROOM = "b".repeat(24);
const OTHER = "c".repeat(24);

function inside(fields: FieldValues = {}, claims: Partial<RoomClaims> = {}) {
  const floors = new FakeFloors();
  const present = new Present();
  const seat: RoomSeat = {
    claims: {
      kind: "stay",
      id: "a".repeat(24),
      app: APP,
      room: ROOM,
      name: "Ada",
      isAdmin: false,
      isGuest: true,
      exp: 0,
      ...claims,
    },
    name: "Ada",
    access: new RoomAccess([]),
  };
  const row = { id: ROOM, app: APP, name: "standup", fields, created: 0, archiveAt: null, version: 1 };
  present.add(row, { seat, connection: "1", enteredMs: 0, ejectAt: null });
  floors.members.set(ROOM, [{ peerId: OTHER, state: undefined }]);
  const stays = new Map<string, Partial<StayRow>>();
  const asked: string[] = [];
  const store: Pick<MeetingStore, "stay"> = {
    stay: async (id) => {
      asked.push(id);
      return stays.get(id) as StayRow | undefined;
    },
  };
  const nowMs = (): number => 1_000_000;
  const signals = new Signals({ present, floor: floors.node(), store, nowMs, monotonicMs: () => 0 });
  return {
    signals,
    seat,
    stays,
    asked,
    reaches: async (receiver: string): Promise<string | undefined> =>
      (await signals.refusalOfMessage(seat, inboxChannel(ROOM, receiver), '{"bye":true}'))?.code,
    /** The text need not be a message. */
    writes: (channel: string, dataJson: string): RoomRefusal | undefined =>
      atOnce(signals.refusalOfMessage(seat, channel, dataJson)),
    says: (channel: string, data: unknown): RoomRefusal | undefined =>
      atOnce(signals.refusalOfMessage(seat, channel, JSON.stringify(data))),
    sends: (...media: readonly string[]): RoomRefusal | undefined =>
      atOnce(signals.refusalOfMessage(seat, inboxChannel(ROOM, OTHER), JSON.stringify(offer(...media)))),
    shows: (state: unknown): RoomRefusal | undefined =>
      signals.refusalOfState(seat, roomChannel(ROOM), JSON.stringify(state)),
  };
}

function atOnce(refused: ReturnType<Signals["refusalOfMessage"]>): RoomRefusal | undefined {
  if (refused instanceof Promise) throw new Error("the store was asked");
  return refused;
}

const offer = (...media: readonly string[]) => ({
  description: { type: "offer", sdp: `v=0\r\n${media.map((kind) => `m=${kind} 9 x 1\r\na=sendrecv\r\n`).join("")}` },
});

describe("an inbox", () => {
  const to = inboxChannel(ROOM, OTHER);
  test.each([
    offer("audio", "video"),
    { description: { type: "answer", sdp: "v=0" } },
    { candidate: { candidate: "candidate:1 1 udp 1 10.0.0.1 9 typ host", sdpMid: "0", sdpMLineIndex: 0 } },
    { candidate: { candidate: "", sdpMid: null, sdpMLineIndex: null, usernameFragment: null } },
    { candidate: null },
    { bye: true },
  ])("takes %j", (data) => expect(inside().says(to, data)).toBeUndefined());

  test.each([
    {},
    "text",
    null,
    { bye: false },
    { bye: true, candidate: null },
    { text: "hello" },
    { candidate: "candidate:1" },
    { candidate: {} },
    { candidate: { candidate: "x", more: "y" } },
    { candidate: { candidate: "x", sdpMid: {} } },
    { description: "v=0" },
    { description: { type: "offer" } },
    { description: { type: "other", sdp: "v=0" } },
    { description: { type: "offer", sdp: "v=0", more: 1 } },
    { description: { type: "offer", sdp: "v=0" }, from: "another person" },
  ])("refuses %j as malformed, with a sentence", (data) => {
    const refusal = inside().says(to, data);
    expect(refusal?.code).toBe("malformed_message");
    expect(refusal?.message).toMatch(/\.$/);
  });

  test("refuses what another reader may take for something else", () => {
    const { writes } = inside({ audioOnlyRoom: true });
    const video = JSON.stringify(offer("video").description.sdp);
    const twice = `{"description":{"type":"offer","sdp":${video},"sdp":"v=0"}}`;
    expect(writes(to, twice)?.code).toBe("malformed_message");
    expect(writes(to, "[]")?.code).toBe("malformed_message");
  });

  test("takes 32 KB, and no more", () => {
    const of = (bytes: number) => ({ candidate: { candidate: "x".repeat(bytes - 30) } });
    expect(JSON.stringify(of(SIGNAL_MAX_BYTES))).toHaveLength(SIGNAL_MAX_BYTES);
    expect(inside().says(to, of(SIGNAL_MAX_BYTES))).toBeUndefined();
    expect(inside().says(to, of(SIGNAL_MAX_BYTES + 1))?.code).toBe("malformed_message");
  });

  test("is one of a person inside: one that this node does not know is looked up, and a made-up one is refused", async () => {
    const { reaches, stays } = inside();
    const [open, ended, elsewhere, foreign] = ["1", "2", "3", "4"].map((digit) => digit.repeat(24)) as [
      string,
      string,
      string,
      string,
    ];
    stays.set(open, { app: APP, room: ROOM, ended: null });
    stays.set(ended, { app: APP, room: ROOM, ended: 1 });
    stays.set(elsewhere, { app: APP, room: "d".repeat(24), ended: null });
    stays.set(foreign, { app: anAppId("another"), room: ROOM, ended: null });
    expect(await reaches(OTHER)).toBeUndefined();
    expect(await reaches(open)).toBeUndefined();
    for (const receiver of [ended, elsewhere, foreign, "f".repeat(24), "anything/else", ""])
      expect([receiver, await reaches(receiver)]).toEqual([receiver, "peer_not_found"]);
  });

  test("to people who may not exist asks the store only as often as its sender may write", async () => {
    const { signals, seat, asked } = inside();
    const large = `{"candidate":"${"x".repeat(SIGNAL_MAX_BYTES - 20)}"}`;
    const codes = new Set<string | undefined>();
    for (let nr = 0; nr < 200; nr++)
      codes.add((await signals.refusalOfMessage(seat, inboxChannel(ROOM, "f".repeat(24)), large))?.code);
    expect([...codes]).toEqual(["peer_not_found", "rate_limited"]);
    expect(asked.length).toBeLessThan(SENDER_SIGNALS_BYTES_PER_MINUTE / large.length);
  });

  test("takes no more than its sender may write, also of what is refused, and parses nothing beyond that", () => {
    const { writes } = inside();
    const none = `{"candidate":"${"x".repeat(SIGNAL_MAX_BYTES - 20)}"}`;
    const codes = new Set<string | undefined>();
    let taken = 0;
    for (; taken <= SENDER_SIGNALS_BYTES_PER_MINUTE / none.length && !codes.has("rate_limited"); taken++)
      codes.add(writes(to, none)?.code);
    expect([...codes]).toEqual(["malformed_message", "rate_limited"]);
    expect(taken).toBeGreaterThan((SENDER_SIGNALS_BYTES_PER_MINUTE / none.length) * 0.9);
    for (const data of [none, `{"candidate":[${"[],".repeat(10_000)}0]}`])
      expect(writes(to, data)?.code).toBe("rate_limited");
  });

  test.each([
    ["many keys", `{"candidate":{${Array.from({ length: 1500 }, (_, nr) => `"${nr.toString(36)}":0`).join()}}}`],
    ["many outermost keys", `{${Array.from({ length: 1000 }, (_, nr) => `"\\n${nr.toString(36)}":0`).join()}}`],
    ["many lists", `{"candidate":[${"[],".repeat(3000)}0]}`],
    ["many objects", `{"candidate":{"candidate":[${"{},".repeat(3000)}0]}}`],
  ])("refuses %s without parsing them, as the chat does", (_, data) => {
    expect(data.length).toBeLessThan(CHAT_LINE_MAX_BYTES);
    const parse = spyOn(JSON, "parse");
    try {
      for (const channel of [to, chatChannel(ROOM)])
        expect(inside().writes(channel, data)?.code).toBe("malformed_message");
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  });
});

describe("what a description may send", () => {
  test("in a room without flags: two of each, for a screen with sound beside the camera", () => {
    const { sends } = inside();
    expect(sends("audio", "video", "audio", "video", "application")).toBeUndefined();
    expect(sends("video", "video", "video")?.code).toBe("action_not_permitted");
    expect(sends("audio", "audio", "audio")?.code).toBe("action_not_permitted");
    expect(sends("text")?.code).toBe("action_not_permitted");
  });

  test("in an audio-only room: no video, also from admins", () => {
    const { sends } = inside({ audioOnlyRoom: true }, { isAdmin: true });
    expect(sends("audio")).toBeUndefined();
    expect(sends("audio", "video")).toEqual({
      code: "action_not_permitted",
      message: "description.sdp: you may not send video in this room.",
    });
  });

  test("with ownerOnlyBroadcast: nothing, except from admins", () => {
    expect(inside({ ownerOnlyBroadcast: true }).sends("audio")?.code).toBe("action_not_permitted");
    expect(inside({ ownerOnlyBroadcast: true }).sends("video")?.code).toBe("action_not_permitted");
    expect(inside({ ownerOnlyBroadcast: true }).sends()).toBeUndefined();
    expect(inside({ ownerOnlyBroadcast: true }, { isAdmin: true }).sends("audio", "video")).toBeUndefined();
  });

  test("where the token disables a kind: none of it", () => {
    expect(inside({}, { disabled: ["audio"] }).sends("audio")?.code).toBe("action_not_permitted");
    expect(inside({}, { disabled: ["audio"] }).sends("video")).toBeUndefined();
    expect(inside({}, { disabled: ["video", "screen"] }).sends("video")?.code).toBe("action_not_permitted");
    expect(inside({}, { disabled: ["screen"] }).sends("video", "video")?.message).toContain("at most 1 video section ");
    expect(inside({ enableScreenSharing: false }).sends("video", "video")?.code).toBe("action_not_permitted");
  });
});

describe("the chat", () => {
  const chat = chatChannel(ROOM);
  test("takes text of 1 to 4,000 characters and nothing else", () => {
    const { says } = inside();
    expect(says(chat, { text: "hello" })).toBeUndefined();
    expect(says(chat, { text: "ä".repeat(CHAT_MAX_CHARS) })).toBeUndefined();
    for (const data of [
      { text: "" },
      { text: "\ud800" },
      { text: "x".repeat(CHAT_MAX_CHARS + 1) },
      { text: 1 },
      {},
      "hello",
    ])
      expect(says(chat, data)?.code).toBe("malformed_message");
    // Only the service speaks for the server, and only it says who a person is.
    expect(says(chat, { text: "hello", server: true })?.code).toBe("malformed_message");
    expect(says(chat, { text: "hello", name: "Another Person" })?.code).toBe("malformed_message");
  });

  test("takes no control characters, and no line that is much larger than its text", () => {
    const { says, writes } = inside();
    expect(says(chat, { text: "one\n\ttwo\r\nthree" })).toBeUndefined();
    expect(says(chat, { text: "\u0001" })?.code).toBe("malformed_message");
    expect(says(chat, { text: "a\u007f" })?.code).toBe("malformed_message");
    const codeOf = (dataJson: string) => writes(chat, dataJson)?.code;
    expect(codeOf(JSON.stringify({ text: "€".repeat(CHAT_MAX_CHARS) }))).toBeUndefined();
    expect(codeOf(`{"text":"${"\\u20ac".repeat(100)}"}`)).toBeUndefined();
    expect(codeOf(`{"text":"${"\\u0061".repeat(CHAT_MAX_CHARS)}"}`)).toBe("malformed_message");
    expect(codeOf(`{"text":${" ".repeat(CHAT_LINE_MAX_BYTES)}"a"}`)).toBe("malformed_message");
  });

  test("takes a bounded number of lines, also of what is refused, and says how long to wait", () => {
    const { says } = inside();
    for (let nr = 0; nr < CHAT_LINES_OF_GUESTS.each.burst; nr++)
      expect(says(chat, { text: "" })?.code).toBe("malformed_message");
    for (let nr = 0; nr < OWN_CHAT_LINES.burst; nr++) expect(says(chat, { text: "." })).toBeUndefined();
    expect(says(chat, { text: "" })?.code).toBe("rate_limited");
    expect(says(chat, { text: "." })).toEqual({
      code: "rate_limited",
      message: "Too many messages in this room. Wait 1 second.",
    });
    expect(says(inboxChannel(ROOM, OTHER), { bye: true })).toBeUndefined();
  });

  test("that is switched off takes nothing", () => {
    expect(inside({ enableChat: false }).says(chat, { text: "hello" })?.code).toBe("action_not_permitted");
  });
});

test("no one publishes where only the service does", () => {
  const { says } = inside({}, { isAdmin: true });
  for (const channel of [roomChannel(ROOM), adminChannel(ROOM), waitChannel(ROOM, "wait-id")])
    expect(says(channel, { notice: "admitted" })?.code).toBe("action_not_permitted");
});

describe("a state", () => {
  test("has only its five fields, each true or false", () => {
    const { shows, signals, seat } = inside();
    expect(shows({ audio: true, video: true, screen: true, hand: true, recording: false })).toBeUndefined();
    expect(shows({})).toBeUndefined();
    expect(signals.refusalOfState(seat, roomChannel(ROOM), null)).toBeUndefined();
    for (const state of [{ audio: 1 }, { name: "x" }, { hand: null }, [], "up", { hand: true, more: false }])
      expect(shows(state)?.code).toBe("malformed_message");
  });

  test("does not say that a person shares what it may not", () => {
    expect(inside({ audioOnlyRoom: true }).shows({ video: true })?.code).toBe("action_not_permitted");
    expect(inside({ audioOnlyRoom: true }).shows({ audio: true, video: false })).toBeUndefined();
    expect(inside({ enableScreenSharing: false }).shows({ screen: true })?.code).toBe("action_not_permitted");
    expect(inside({}, { disabled: ["audio"] }).shows({ audio: true, hand: true })?.code).toBe("action_not_permitted");
    expect(inside({ ownerOnlyBroadcast: true }).shows({ hand: true })).toBeUndefined();
  });
});

test("a seat whose room is not here may say nothing", () => {
  const { signals, seat } = inside();
  const elsewhere = { ...seat, claims: { ...seat.claims, room: "d".repeat(24) } };
  expect(atOnce(signals.refusalOfMessage(elsewhere, chatChannel("d".repeat(24)), '{"text":"x"}'))?.code).toBe(
    "action_not_permitted",
  );
  expect(signals.refusalOfState(elsewhere, roomChannel("d".repeat(24)), '{"audio":true}')?.code).toBe(
    "action_not_permitted",
  );
});
