/** Webhooks in sentences. */
import { expect, test } from "bun:test";
import { WEBHOOK_EVENTS } from "../../../src/protocol/webhook-events.ts";
import type { Webhook } from "../api/webhook-types.ts";
import { healthOf, nameOf, SUBJECTS } from "./webhook-text.ts";

test("every event belongs to one subject", () => {
  expect(SUBJECTS.flatMap(({ events }) => Object.keys(events)).sort()).toEqual([...WEBHOOK_EVENTS].sort());
});

test("the health says what is so, since when and why", () => {
  const on = { disabled: false, disabledReason: null, disabledAt: null, canSign: true };
  const health = { state: "ok", failingSince: null, lastStatus: 200, lastError: null };
  const of = (changes: object): unknown => healthOf({ ...on, health, ...changes } as unknown as Webhook);
  expect(of({})).toEqual({ kind: "good", text: "delivering" });
  expect(of({ health: { ...health, state: "new" } })).toEqual({ kind: "", text: "nothing sent yet" });
  expect(of({ canSign: false })).toMatchObject({ kind: "bad", text: "cannot sign" });
  const failing = { state: "failing", failingSince: 1000, lastStatus: 503, lastError: null };
  expect(of({ health: failing })).toEqual({ kind: "warn", text: "failing", since: 1000, why: "status 503" });
  expect(of({ health: { ...failing, lastStatus: null, lastError: "the connection was refused" } })).toMatchObject({
    why: "the connection was refused",
  });
  for (const [disabledReason, why] of [
    ["request", "switched off"],
    ["gone", "it responded with 410 Gone"],
    ["failing", "nothing succeeded for five days"],
  ])
    expect(of({ disabled: true, disabledAt: 2000, disabledReason, health: failing })).toMatchObject({
      text: "disabled",
      since: 2000,
      why,
    });
});

test("a webhook without a description goes by its host", () => {
  expect(nameOf({ description: "The shop", url: "https://a.example/b" })).toBe("The shop");
  expect(nameOf({ description: null, url: "https://a.example:8443/b?c" })).toBe("a.example:8443");
  expect(nameOf({ description: null, url: "https://a.example/…" })).toBe("a.example");
});
