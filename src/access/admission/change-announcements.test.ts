import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Withdrawn } from "../keys/withdrawn.ts";
import {
  type Announced,
  ChangeAnnouncements,
  KEPT_MAX,
  REPEATED_AT_ONCE,
  UNANSWERED_MAX,
} from "./change-announcements.ts";

const APP = anAppId("app");
const OTHER = anAppId("other");
const key = (id: string): Withdrawn => ({ kind: "key", id });

interface Started {
  readonly all: ChangeAnnouncements;
  /** While the transport was up: ids, or undefined for a change that takes nothing away. */
  readonly sent: (string | undefined)[];
  outcome: Announced;
}

function started(): Started {
  const sent: (string | undefined)[] = [];
  const state: Started = {
    sent,
    outcome: "answered",
    all: new ChangeAnnouncements(async (text) => {
      if (state.outcome !== "unsent") sent.push(text === undefined ? undefined : JSON.parse(text).id);
      return state.outcome;
    }),
  };
  return state;
}

test("what every node has answered is announced once", async () => {
  const state = started();
  await state.all.announce(key("k1"), APP);
  await state.all.announce(undefined, APP);
  await state.all.repeat();
  expect([state.sent, state.all.size]).toEqual([["k1", undefined], 0]);
});

test("what was taken away while no node could be reached is announced when one can", async () => {
  const state = started();
  state.outcome = "unsent";
  await state.all.announce(key("k1"), APP);
  await state.all.announce(undefined, APP);
  await state.all.announce({ kind: "session", id: "s" });
  for (let i = 0; i < 2 * UNANSWERED_MAX; i++) await state.all.repeat();
  expect([state.sent, state.all.size]).toEqual([[], 2]);
  state.outcome = "answered";
  await state.all.repeat();
  await state.all.repeat();
  expect([state.sent, state.all.size]).toEqual([["k1", "s"], 0]);
});

test("what some nodes do not answer is announced a few times", async () => {
  const state = started();
  state.outcome = "unanswered";
  await state.all.announce(key("k1"), APP);
  for (let i = 0; i < 2 * UNANSWERED_MAX; i++) await state.all.repeat();
  expect([state.sent, state.all.size]).toEqual([Array(UNANSWERED_MAX).fill("k1"), 0]);
});

test("an application that takes away very much does not push out what another one has, and a run is bounded", async () => {
  const state = started();
  state.outcome = "unsent";
  await state.all.announce(key("first"), OTHER);
  for (let i = 0; i < KEPT_MAX + 10; i++) await state.all.announce(key(`k${i}`), APP);
  expect(state.all.size).toBe(KEPT_MAX);
  state.outcome = "answered";
  await state.all.repeat();
  expect([state.sent[0], state.sent.length]).toEqual(["first", REPEATED_AT_ONCE]);
});
