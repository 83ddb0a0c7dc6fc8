import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Channel } from "../../../client/src/channel.ts";
import { settled } from "../../../client/src/testing/clock.ts";
import { Kit } from "../../../client/src/testing/kit.ts";
import type { PersonState } from "./contract.ts";
import type { Metadata } from "./people.ts";
import { Roster } from "./roster.ts";

const QUIET: PersonState = { audio: false, video: false, screen: false, hand: false, recording: false };
/** How long someone may be missing. */
const MISSING_MS = 30_000;

let kit: Kit;
let roster: Roster;
let story: string[];
let lists: number;

beforeEach(async () => {
  kit = new Kit();
  kit.service.answersPings = true;
  story = [];
  lists = 0;
  const channel = (await kit.connected()).channel("room") as unknown as Channel<unknown, Metadata>;
  roster = new Roster(channel, {
    joined: ({ name }) => story.push(`+${name}`),
    left: ({ name }) => story.push(`-${name}`),
    changed: () => undefined,
    listed: () => lists++,
  });
  roster.follow();
  await settled();
});

afterEach(() => {
  roster.pause();
  kit.restore();
});

const entries = (...names: string[]): object[] => names.map((name) => ({ peerId: name, metadata: { name } }));
const send = (fields: object): Promise<void> =>
  kit.service.socket.receive({ type: "presence", channel: "room", joined: [], left: [], ...fields });
const said = (peerId: string, state: Partial<PersonState>): Promise<void> =>
  kit.service.socket.receive({ type: "state", channel: "room", changed: [{ peerId, state }] });

/** The service answers the subscribe with these people. */
async function list(...names: string[]): Promise<void> {
  await kit.service.socket.ack("subscribe");
  await send({ joined: entries(...names), snapshot: true });
}

async function listAfterOutage(...names: string[]): Promise<void> {
  await kit.reconnected();
  await list(...names);
}

const shown = (): string[] => roster.people.map(({ name, isLost }) => (isLost ? `${name} lost` : name));

test("the first list is no arrival; who comes and goes later is announced", async () => {
  await list("ann", "bob");
  await send({ joined: entries("cid") });
  await send({ left: entries("ann") });
  expect([shown(), story]).toEqual([
    ["bob", "cid"],
    ["+cid", "-ann"],
  ]);
});

test("people who are missing after an outage keep their place, and have neither left nor come when they are back", async () => {
  await list("ann", "bob");
  await listAfterOutage("bob");
  expect([shown(), roster.ids]).toEqual([
    ["ann lost", "bob"],
    ["ann", "bob"],
  ]);
  await kit.clock.advance(MISSING_MS - 1000);
  await send({ joined: entries("ann") });
  await kit.clock.advance(2 * MISSING_MS);
  expect([shown(), story]).toEqual([["ann", "bob"], []]);
});

test("what they said about themselves is shown until they say something else: a new connection has no state", async () => {
  await list("ann");
  await said("ann", { video: true });
  await listAfterOutage();
  expect(roster.people).toMatchObject([{ isLost: true, state: { ...QUIET, video: true } }]);
  await send({ joined: entries("ann") });
  expect(roster.people).toMatchObject([{ isLost: false, state: { ...QUIET, video: true } }]);
  await said("ann", { video: false });
  expect(roster.people).toMatchObject([{ isLost: false, state: QUIET }]);
});

test("people who are missing for 30 seconds have left", async () => {
  await list("ann", "bob");
  await listAfterOutage("bob");
  await kit.clock.advance(MISSING_MS - 1);
  expect([shown(), story]).toEqual([["ann lost", "bob"], []]);
  const before = lists;
  await kit.clock.advance(1);
  expect([shown(), roster.ids, story, lists]).toEqual([["bob"], ["bob"], ["-ann"], before + 1]);
});

test("a channel that does not show its members any more has none, and no one has left", async () => {
  await list("ann");
  const error = { type: "error", code: "channel_not_authorized", message: "", channel: "room" };
  await kit.service.socket.receive(error);
  expect([shown(), story]).toEqual([[], []]);
});
