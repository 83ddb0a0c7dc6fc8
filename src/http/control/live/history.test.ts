import { expect, test } from "bun:test";
import type { Role } from "../../../access/operators/operator.ts";
import { FakeClock } from "../../../base/testing/fake-clock.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import type { CreatedPage } from "../../../history/contract/created-streams.ts";
import { HistoryUnavailable, type Page, type Range, type StoredMessage } from "../../../history/contract/history.ts";
import { ChannelRules } from "../../../protocol/patterns/channel-rules.ts";
import { STORE_MAX_MS } from "../../../realtime/streams/limits.ts";
import { appRow } from "../../../store/testing/rows.ts";
import type { Method } from "../../server/endpoint.ts";
import { auditedChanges, guardOf, run } from "../../testing/calls.ts";
import { pagesOf } from "../../testing/history-pages.ts";
import { adminHistoryEndpoints } from "./history.ts";

const APP = anAppId("app");

const PATH = "/api/internal/v1/apps/:app/channels/:channel/history";
const RULES = new ChannelRules([
  { pattern: "chat/*", history: { messages: 10, seconds: 60 }, graceSec: 0 },
  { pattern: "docs/*", stream: { seconds: 60, bytes: 65_536 }, graceSec: 0 },
]);

const stored = (offset: number, more: Partial<StoredMessage> = {}): StoredMessage => ({
  offset,
  check: `c${offset}`,
  time: 1000 + offset,
  from: "ann",
  metadataJson: undefined,
  dataJson: "12345678901234567890",
  connection: "hidden",
  id: undefined,
  bytes: 300,
  ...more,
});
const STATE = { epoch: "e", top: 9, topCheck: "c9", first: 4, firstCheck: "c3" };
const PAGE: Page = { state: STATE, check: undefined, messages: [stored(9)], more: true };

interface World {
  readonly role?: Role;
  readonly consolePayloads?: boolean;
  readonly read?: (range: Range) => Promise<Page | undefined>;
  readonly clock?: FakeClock;
  /** The messages of the only stream, with its content type. */
  readonly stream?: { readonly contentType: string; readonly messages: readonly StoredMessage[] };
}

function streamOf({ contentType, messages }: NonNullable<World["stream"]>): CreatedPage {
  const config = { contentType, ttlSeconds: undefined, expiresAtMs: undefined };
  const times = { createdMs: 0, usedMs: 0, endsMs: 1e12, bytes: 900, lineage: [] };
  return { stream: { ...STATE, ...times, config, isClosed: false }, page: { ...PAGE, messages, more: false } };
}

/** One call as an operator, the ranges that it has read, the channels that it has removed, and what it has audited. */
async function attempt(method: Method, channel: string, query: string, world: World = {}) {
  const { role = "admin", consolePayloads = true, read = async () => PAGE, clock } = world;
  const ranges: Range[] = [];
  const removed: string[] = [];
  const { audit, changes } = auditedChanges();
  const endpoints = adminHistoryEndpoints(
    { admin: guardOf(role), operator: guardOf(role) },
    {
      pages: pagesOf(
        (_spaceId, _channel, range) => {
          ranges.push(range);
          return read(range);
        },
        clock,
        async () => world.stream && streamOf(world.stream),
      ),
      streams: {
        retentionOf: (_spaceId, name) => RULES.ruleFor(name)?.history,
        createdRuleOf: (_spaceId, name) => RULES.ruleFor(name)?.stream,
        remove: async (_spaceId, name) => removed.push(name) > 0,
      },
      appIn: async () => appRow("app", { consolePayloads }),
      audit,
    },
  );
  const answer = await run(endpoints, { method, path: PATH, params: { app: APP, channel }, query }).then(
    async (value) => (value instanceof Response ? await value.text() : JSON.stringify(value)),
    (error: Error) => error.message,
  );
  return { answer, ranges, removed, changes };
}

const get = async (query = "", world: World = {}): Promise<string> =>
  (await attempt("GET", "chat/1", query, world)).answer;

test("a page has data byte for byte, for admins, where the application allows it", async () => {
  const shown =
    '{"channel":"chat/1","pos":"e.9.c9","messages":[{"from":"ann","pos":"e.9.c9","time":1009,"bytes":20,"data":12345678901234567890}],"more":true}\n';
  expect(await get()).toBe(shown);
  const hidden = shown.replace(',"data":12345678901234567890', "");
  expect(await get("", { consolePayloads: false })).toBe(hidden);
  expect(await get("", { role: "read" })).toBe(hidden);
});

test("metadata and ids are shown, connections are not", async () => {
  const messages = [stored(9, { metadataJson: '{"n":1.0}', id: 'a"b' })];
  const json = await get("", { read: async () => ({ ...PAGE, messages }) });
  expect(json).toContain('"fromMetadata":{"n":1.0}');
  expect(json).toContain('"id":"a\\"b"');
  expect(json).not.toContain("hidden");
});

test("limit, before and after choose the range", async () => {
  const read = async ({ before, after }: Range): Promise<Page> => ({ ...PAGE, check: `c${before ?? after}` });
  const range = async (query: string): Promise<Range | undefined> =>
    (await attempt("GET", "chat/1", query, { read })).ranges[0];
  expect(await range("")).toEqual({ limit: 50, maxBytes: 960_000 });
  expect(await range("?limit=7&before=e.6.c6")).toEqual({ limit: 7, maxBytes: 960_000, before: 6 });
  expect(await range("?after=e.6.c6")).toEqual({ limit: 50, maxBytes: 960_000, after: 6 });
});

test("messages of a stream are shown as text, or as base64 that says so, with the bytes they were written with", async () => {
  const shown = async (contentType: string, ...data: string[]): Promise<string> => {
    const messages = data.map((dataJson, at) => stored(9 - at, { dataJson }));
    return (await attempt("GET", "docs/1", "", { stream: { contentType, messages } })).answer;
  };
  expect(await shown("application/json", "1.0")).toContain('"bytes":3,"data":1.0}');
  const text = await shown("text/plain; charset=utf-8", '"hé\\n"', '["/w=="]');
  expect(text).toContain('"bytes":4,"data":"hé\\n"}');
  expect(text).toContain('"encoding":"base64","bytes":1,"data":"/w=="}');
  expect(await shown("image/png", '"iVBO"')).toContain('"encoding":"base64","bytes":3,"data":"iVBO"}');
});

test("messages of a stream that does not exist are 404", async () => {
  expect((await attempt("GET", "docs/1", "")).answer).toStartWith("There is no stream of this name");
});

test("a channel in whose history nothing was stored yet is empty", async () => {
  expect(await get("", { read: async () => undefined })).toBe(
    '{"channel":"chat/1","pos":null,"messages":[],"more":false}\n',
  );
});

const GONE = "is not a position in this channel's current history; start again from the newest messages";

test.each<[query: string, check: string | undefined, text: string]>([
  ["?before=e.6.c6&after=e.6.c6", "c6", "before: cannot be used together with after"],
  ["?before=nonsense", undefined, "before: must be the pos of a message"],
  [`?after=e.${"1".repeat(99)}.c`, undefined, "after: must have at most 64 characters"],
  ["?before=other.6.c6", "c6", `before: ${GONE}`],
  ["?before=e.6.other", "c6", `before: ${GONE}`],
  ["?before=e.99.c99", undefined, `before: ${GONE}`],
  ["?after=e.1.c1", undefined, `after: ${GONE}`],
  ["?limit=101", undefined, "limit: must be a whole number from 1 to 100"],
])("refused: %s", async (query, check, text) => {
  expect(await get(query, { read: async () => ({ ...PAGE, check }) })).toBe(text);
});

test("before a message that was removed there is nothing, and that is no mistake", async () => {
  const read = async (): Promise<Page> => ({ ...PAGE, messages: [], more: false });
  expect(await get("?before=e.2.c2", { read })).toContain('"messages":[],"more":false');
});

test("a store that is unavailable is 503 with a sentence", async () => {
  const read = (): Promise<Page> => Promise.reject(new HistoryUnavailable("the disk is full"));
  expect(await get("", { read })).toBe("History cannot be read or changed at the moment. Try again.");
});

test("a store that does not answer is the same: an operator does not wait without an end", async () => {
  const clock = new FakeClock();
  const asked = Promise.withResolvers<void>();
  const read = (): Promise<Page> => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const answer = get("", { read, clock });
  await asked.promise;
  clock.advance(STORE_MAX_MS);
  expect(await answer).toBe("History cannot be read or changed at the moment. Try again.");
});

test("DELETE forgets the channel's messages and is audited", async () => {
  const { answer, removed, changes } = await attempt("DELETE", "chat/1", "");
  expect([answer, removed]).toEqual(['{"channel":"chat/1","deleted":true}', ["chat/1"]]);
  expect(changes).toEqual([{ what: "history deleted", on: "chat/1", app: APP }]);
});

test.each<Method>(["GET", "DELETE"])("%s of a channel without history is 404 and touches nothing", async (method) => {
  const { answer, ranges, removed, changes } = await attempt(method, "news", "");
  expect(answer).toStartWith("This channel has no history: none of its application's channel rules");
  expect([ranges, removed, changes]).toEqual([[], [], []]);
});
