/** Which events a form chooses, and what it sends. */
import { describe, expect, test } from "bun:test";
import { WEBHOOK_EVENTS } from "../../../src/protocol/webhook-events.ts";
import type { Webhook } from "../api/webhook-types.ts";
import {
  bodyOf,
  changesOf,
  channelsProblem,
  chosen,
  draftOf,
  EMPTY,
  isValid,
  needsChannels,
  urlProblem,
  withTypes,
} from "./webhook-draft.ts";

const VALID = { ...EMPTY, url: "https://example.com/hooks", events: ["room.created"] };

describe("events", () => {
  test("a group that is chosen whole is its pattern, and one type less are the others", () => {
    expect(withTypes([], ["peer.joined"], true)).toEqual(["peer.joined"]);
    expect(withTypes(["peer.joined"], ["peer.left"], true)).toEqual(["peer.*"]);
    expect(withTypes(["peer.*", "room.created"], ["peer.joined"], false)).toEqual(["peer.left", "room.created"]);
    expect(withTypes(["peer.*"], ["peer.joined", "peer.left"], false)).toEqual([]);
  });

  test("all events without one are the groups and what is left of its group", () => {
    const left = withTypes(["*"], ["recording.deleted"], false);
    expect(left).toContain("recording.ready");
    expect(left).toContain("meeting.*");
    expect(chosen(left)).toEqual(WEBHOOK_EVENTS.filter((type) => type !== "recording.deleted"));
  });

  test("those of channels need to know of which", () => {
    expect(needsChannels(["connection.*", "recording.ready"])).toBe(false);
    for (const events of [["*"], ["channel.*"], ["peer.left"], ["message.published"]]) {
      expect([events, needsChannels(events)]).toEqual([events, true]);
      expect(channelsProblem({ ...VALID, events })).toContain("at least one");
      expect(channelsProblem({ ...VALID, events, patterns: "chat/*" })).toBeUndefined();
    }
    expect(channelsProblem({ ...VALID, events: ["peer.left"], patterns: "chat/\\" })).toContain("chat/\\");
  });
});

test("what is missing keeps a draft from being sent", () => {
  expect(isValid(VALID)).toBe(true);
  expect(isValid({ ...VALID, url: "example.com" })).toBe(false);
  expect(isValid({ ...VALID, events: [] })).toBe(false);
  expect(isValid({ ...VALID, headers: [{ id: 1, name: "X-Tenant", value: "", isKept: false }] })).toBe(false);
  expect(isValid({ ...VALID, headers: [{ id: 1, name: "X-Tenant", value: "", isKept: true }] })).toBe(true);
  expect([urlProblem(""), urlProblem("https://example.com"), urlProblem("ftp://a") === undefined]).toEqual([
    undefined,
    undefined,
    false,
  ]);
});

describe("what is sent", () => {
  const saved = draftOf({
    url: "https://example.com/hooks",
    events: ["peer.*"],
    channelPatterns: ["chat/*"],
    description: null,
    headers: { "X-Tenant": "***", Authorization: "***" },
  } as unknown as Webhook);

  test("a new webhook has all of its fields", () => {
    const draft = { ...VALID, patterns: "left/over", headers: [{ id: 1, name: " X-A ", value: "b", isKept: false }] };
    expect(bodyOf(draft)).toEqual({
      url: "https://example.com/hooks",
      events: ["room.created"],
      channelPatterns: null,
      description: null,
      headers: { "X-A": "b" },
    });
  });

  test("an edit has only what differs", () => {
    expect(changesOf(saved, saved)).toEqual({});
    expect(changesOf(saved, { ...saved, description: "the shop" })).toEqual({ description: "the shop" });
    expect(changesOf(saved, { ...saved, events: ["room.*"] })).toEqual({ events: ["room.*"], channelPatterns: null });
    expect(changesOf(saved, { ...saved, patterns: "chat/*\norders/**" })).toEqual({
      channelPatterns: ["chat/*", "orders/**"],
    });
  });

  test("headers that are kept stay, a removed one is null, and one with a value is set", () => {
    const [tenant, authorization] = saved.headers;
    if (!tenant || !authorization) throw new Error("the draft has lost its headers");
    expect(changesOf(saved, { ...saved, headers: [authorization] })).toEqual({ headers: { "X-Tenant": null } });
    const typed = { ...tenant, value: "acme" };
    expect(changesOf(saved, { ...saved, headers: [typed, authorization] })).toEqual({
      headers: { "X-Tenant": "acme" },
    });
    // Removed, and added again in other letters: it is one header.
    const retyped = { id: 9, name: "x-tenant", value: "other", isKept: false };
    expect(changesOf(saved, { ...saved, headers: [authorization, retyped] })).toEqual({
      headers: { "x-tenant": "other" },
    });
  });
});
