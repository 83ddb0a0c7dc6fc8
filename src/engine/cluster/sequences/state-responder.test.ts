import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { MemberState } from "../../engine.ts";
import { PendingRequests, RESPONSE_TIMEOUT_MS, WHOLE_RESPONSE_TIMEOUT_MS } from "../requests/pending-requests.ts";
import { sequencesOf } from "../requests/response-parts.ts";
import { responsePart } from "../wire/decode.ts";
import { JSON_FORMAT } from "../wire/format.ts";
import type { NodeResponse, ResponsePart } from "../wire/messages.ts";
import { ITEM_MAX_BYTES } from "../wire/payload.ts";
import { BURST_BYTES, QUEUED_CHANNELS_MAX, RATE_BYTES_PER_SECOND, SequenceStateResponder } from "./state-responder.ts";

const APP = anAppId("app");

const crowd = (count: number): MemberState[] =>
  Array.from({ length: count }, (_, at) => ({
    peerId: `p${at}`,
    since: at,
    node: "here",
    metadataJson: `{"x":"${"€".repeat(1300)}"}`,
  }));

/** Channels named `large…` have 300 members of 4 KB, 1.2 MB; `medium…` have 7; `broken` throws; the others have none. */
function responding() {
  let now = 0;
  let reads = 0;
  const faults: unknown[] = [];
  const members = crowd(300);
  const due: (() => void)[] = [];
  const responder = new SequenceStateResponder({
    local: {
      id: "here",
      localMembers: (_spaceId, channel) => {
        reads++;
        if (channel === "broken") throw new Error("planted");
        if (channel.startsWith("medium")) return members.slice(0, 7);
        return channel.startsWith("large") ? members : [];
      },
    },
    format: JSON_FORMAT,
    outgoing: { state: () => ({ epoch: 1, n: 2 }) },
    boundary: {
      report: (error) => void faults.push(error),
      run: (_context, work) => {
        try {
          work();
        } catch (error) {
          faults.push(error);
        }
      },
    },
    nowMs: () => now,
    later: (run) => due.push(run),
  });
  const pass = (ms: number): void => {
    for (let at = 0; at < ms; at += 5) {
      now += 5;
      for (const run of due.splice(0)) run();
    }
  };
  return { responder, members, pass, faults, reads: () => reads };
}

test("a response in parts can be joined, and a channel that is named twice is read once", () => {
  const { responder, members, pass, reads } = responding();
  const texts: string[] = [];
  responder.handle("b", [...Array(2000).fill(["app", "large"]), ["app", "d"]], (text) => texts.push(text));
  pass(500);
  // The first one is read once more, to see that the response is not short.
  expect([reads(), texts.length > 30]).toEqual([3, true]);
  for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(ITEM_MAX_BYTES * 1.1);
  let joined: NodeResponse | undefined;
  const requests = new PendingRequests(() => 0);
  requests.add(1, ["here"], (all) => {
    joined = all.get("here");
  });
  for (const text of texts) requests.receive(1, responsePart(text) as ResponsePart);
  const state = { app: APP, epoch: 1, n: 2 };
  expect(sequencesOf(joined)).toEqual([
    { ...state, channel: "large", members },
    { ...state, channel: "d", members: [] },
  ]);
});

test("the bytes per second are bounded, however many requests a node sends", () => {
  const { responder, pass } = responding();
  let bytes = 0;
  for (let second = 0; second < 2; second++)
    for (let i = 0; i < 200; i++) {
      responder.handle("b", [[APP, `large${i % 50}`]], (text) => {
        bytes += Buffer.byteLength(text);
      });
      pass(5);
    }
  expect(bytes).toBeGreaterThan(RATE_BYTES_PER_SECOND / 2);
  expect(bytes).toBeLessThan(2 * RATE_BYTES_PER_SECOND + 2 * BURST_BYTES);
});

test("a short response is sent at once, and every node is served, whatever one node requests", () => {
  const { responder, pass } = responding();
  for (let i = 0; i < 500; i++) responder.handle("b", [[APP, `large${i}`]], () => undefined);
  const sent: string[] = [];
  responder.handle("b", [[APP, "small"]], () => sent.push("small"));
  expect(sent).toEqual(["small"]);
  responder.handle("c", [[APP, "large"]], () => sent.push("c"));
  pass(RESPONSE_TIMEOUT_MS / 2);
  expect(sent.length).toBeGreaterThan(30);
});

test("a short response for several channels is sent at once, whatever the same node has requested before", () => {
  const { responder } = responding();
  const texts: string[] = [];
  const large = Array.from({ length: 5 }, (_, at) => [APP, `large ${at}`] as const);
  responder.handle("b", large, () => undefined);
  responder.handle(
    "b",
    [
      [APP, "c"],
      [APP, "d"],
    ],
    (text) => texts.push(text),
  );
  const part = responsePart(texts[0] ?? "");
  expect([texts.length, sequencesOf(part?.response).map(({ channel }) => channel)]).toEqual([1, ["c", "d"]]);
});

test("queued requests are bounded, and dropped after the timeout of their node", () => {
  const { responder, pass } = responding();
  let sent = 0;
  const request = (): void => {
    const channels = Array.from({ length: 4000 }, (_, at) => [APP, `large${at}`] as const);
    for (let i = 0; i < 100; i++) responder.handle("b", channels, () => sent++);
  };
  request();
  expect(Reflect.get(responder, "queuedChannels")).toBeLessThan(QUEUED_CHANNELS_MAX + 4000);
  pass(2 * RESPONSE_TIMEOUT_MS);
  expect(sent).toBeLessThan(((2 * RATE_BYTES_PER_SECOND + 2 * BURST_BYTES) / ITEM_MAX_BYTES) * 1.5);
  pass(WHOLE_RESPONSE_TIMEOUT_MS);
  expect(Reflect.get(responder, "queuedChannels")).toBe(0);
});

test("a long time without requests does not raise the bound of what is sent at once", () => {
  const { responder, pass } = responding();
  pass(10_000);
  let bytes = 0;
  for (let i = 0; i < 10; i++)
    responder.handle("b", [[APP, `large${i}`]], (text) => {
      bytes += Buffer.byteLength(text);
    });
  expect(bytes).toBeGreaterThan(BURST_BYTES - ITEM_MAX_BYTES);
  expect(bytes).toBeLessThan(BURST_BYTES + 2 * ITEM_MAX_BYTES);
});

test("short responses are sent at once, and count towards the rate of long ones", () => {
  const { responder } = responding();
  let sent = 0;
  for (let i = 0; i < 100; i++) responder.handle("b", [[APP, `medium${i}`]], () => sent++);
  expect(sent).toBe(100);
  responder.handle("b", [[APP, "large"]], () => sent++);
  expect(sent).toBe(100);
});

test("of repeated requests only the last one is answered, and a response that has started is completed", () => {
  const { responder, pass } = responding();
  const sent = new Map<string, number>();
  const request = (channel: string, name = channel): void =>
    responder.handle("b", [[APP, channel]], () => sent.set(name, (sent.get(name) ?? 0) + 1));
  // The burst is enough for the first response and some parts of the second.
  for (const channel of ["large0", "large1", "large2"]) request(channel);
  const [parts, some] = [sent.get("large0") ?? 0, sent.get("large1") ?? 0];
  expect([some > 0, some < parts, sent.has("large2")]).toEqual([true, true, false]);
  for (const channel of ["large1", "large2"])
    for (const repeat of [1, 2, 3]) request(channel, `${channel} repeat ${repeat}`);
  pass(RESPONSE_TIMEOUT_MS / 2);
  expect(Object.fromEntries(sent)).toEqual({
    large0: parts,
    large1: parts,
    "large1 repeat 3": parts,
    "large2 repeat 3": parts,
  });
});

test("a second request for a channel does not take the place of one for a channel with a similar name", () => {
  const { responder, pass } = responding();
  const sent: string[] = [];
  const request = (channel: string, name = channel): void =>
    responder.handle("b", [[APP, channel]], () => {
      if (sent.at(-1) !== name) sent.push(name);
    });
  // The burst is enough for the first response and some parts of the second.
  for (const channel of ["large0", "large1", "large1 next"]) request(channel);
  request("large1", "large1 again");
  pass(RESPONSE_TIMEOUT_MS / 2);
  expect(sent).toEqual(["large0", "large1", "large1 next", "large1 again"]);
});

test("an error while a response is made affects only that response", () => {
  const { responder, pass, faults } = responding();
  const sent: string[] = [];
  const request = (from: string, ...channels: string[]): void =>
    responder.handle(
      from,
      channels.map((channel) => [APP, channel] as const),
      () => sent.push(from),
    );
  request("b", "broken", "small");
  request("c", "one", "two");
  pass(100);
  expect([sent, faults.length]).toEqual([["c"], 1]);
  expect(Reflect.get(responder, "queuedChannels")).toBe(0);
});
