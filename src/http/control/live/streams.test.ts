import { afterEach, beforeEach, expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { HistoryUnavailable } from "../../../history/contract/history.ts";
import type { SqliteHistory } from "../../../history/sqlite/history.ts";
import { created, NAME, producer, SPACE, write } from "../../../history/testing/created-kit.ts";
import { openMemoryHistory } from "../../../history/testing/memory.ts";
import { Problem } from "../../../protocol/codes.ts";
import { appRow } from "../../../store/testing/rows.ts";
import { auditedChanges, guardOf, run } from "../../testing/calls.ts";
import { adminStreamEndpoints } from "./streams.ts";

const APP = anAppId("app");
const ROOT = "/api/internal/v1/apps/:app/streams";
const ONE = `${ROOT}/:channel`;
const RULE = { seconds: 86_400, bytes: 65_536 };
const AUDIENCE = { readers: 3, subscribers: 2, isComplete: true };

let history: SqliteHistory;
let isDown = false;

beforeEach(() => {
  history = openMemoryHistory();
  isDown = false;
});
afterEach(() => history.close());

function attempt(method: "GET" | "DELETE", path: string, channel: string | undefined, query = "") {
  const { audit, changes } = auditedChanges();
  const guard = guardOf("admin");
  const store = history.created;
  const nameOf = (name: string) => ({ spaceId: SPACE, channel: name });
  const endpoints = adminStreamEndpoints(
    { admin: guard, operator: guard, lists: guard },
    {
      store,
      calls: { run: (work) => (isDown ? Promise.reject(new HistoryUnavailable("the disk is full")) : work) },
      created: {
        describe: (_app, name) => store.describe(nameOf(name)),
        delete: (_app, name) => store.delete(nameOf(name)),
      },
      rules: { createdRuleOf: () => RULE },
      live: { audience: async () => AUDIENCE },
      appIn: async () => appRow("app"),
      audit,
    },
  );
  const params = { app: APP, ...(channel !== undefined && { channel }) };
  const answer = run(endpoints, { method, path, params, query }).catch((error: Error) => error);
  return answer.then((value) => ({ value, changes }));
}

const list = async (query = ""): Promise<unknown> => (await attempt("GET", ROOT, undefined, query)).value;

test("a list has what each stream was created with, and how full it is, by name", async () => {
  const ann = await created(history.created, { channel: "docs/ann", ttlSeconds: 60 }, ["a", "b"]);
  await created(history.created, { channel: "docs/ben", contentType: "text/plain", isClosed: true });
  await write(history.created, ["c"], { channel: "docs/ann", producer: producer(0, 0) });
  const now = Math.floor(ann.createdMs / 1000);
  expect(await list()).toEqual({
    data: [
      {
        channel: "docs/ann",
        contentType: "application/json",
        created: now,
        closed: false,
        messages: 3,
        bytes: expect.any(Number),
        pos: expect.stringMatching(/^\w+\.3\.\w+$/),
        ttlSec: 60,
        endsAt: expect.any(Number),
        producers: 1,
      },
      expect.objectContaining({ channel: "docs/ben", contentType: "text/plain", closed: true, messages: 0 }),
    ],
    next: null,
  });
});

test("pages of a list follow each other, and a search looks within names", async () => {
  for (const channel of ["a/1", "a/2", "b/1", "b/2"]) await created(history.created, { channel });
  const names = async (query: string): Promise<unknown> => {
    const { data, next } = (await list(query)) as { data: { channel: string }[]; next: string | null };
    return [data.map(({ channel }) => channel), next];
  };
  expect(await names("?limit=3")).toEqual([["a/1", "a/2", "b/1"], "b/1"]);
  expect(await names("?limit=3&after=b/1")).toEqual([["b/2"], null]);
  expect(await names("?contains=/2")).toEqual([["a/2", "b/2"], null]);
  expect(await names("?contains=A")).toEqual([["a/1", "a/2"], null]);
  expect(await names("?contains=c")).toEqual([[], null]);
});

test("one stream has its producers, those used last first, its limits and who reads it", async () => {
  const expiresAtMs = Date.now() + 3_600_000;
  await created(history.created, { expiresAtMs });
  await write(history.created, ["1"], { producer: producer(2, 0) });
  await write(history.created, ["2"], { producer: producer(0, 0, { owner: "peer:ann", id: "tab" }) });
  const { value } = await attempt("GET", ONE, NAME.channel);
  expect(value).toMatchObject({
    channel: NAME.channel,
    expiresAt: Math.floor(expiresAtMs / 1000),
    endsAt: Math.floor(expiresAtMs / 1000),
    maxBytes: 65_536,
    idleSec: 86_400,
    producers: expect.arrayContaining([
      { keyId: "key", id: "p", epoch: 2, seq: 0, used: expect.any(Number) },
      { peerId: "ann", id: "tab", epoch: 0, seq: 0, used: expect.any(Number) },
    ]),
    ...AUDIENCE,
  });
});

test("DELETE removes the stream and is audited", async () => {
  await created(history.created);
  const { value, changes } = await attempt("DELETE", ONE, NAME.channel);
  expect(value).toEqual({ channel: NAME.channel, deleted: true });
  expect(changes).toEqual([{ what: "stream deleted", on: NAME.channel, app: APP }]);
  expect(await history.created.describe(NAME)).toBeUndefined();
});

test.each(["GET", "DELETE"] as const)(
  "%s of a stream that does not exist is 404 and changes nothing",
  async (method) => {
    const { value, changes } = await attempt(method, ONE, "other");
    expect(value).toBeInstanceOf(Problem);
    expect((value as Problem).message).toStartWith("There is no stream of this name");
    expect(changes).toEqual([]);
  },
);

test("a store that is unavailable is 503 with a sentence", async () => {
  isDown = true;
  expect(((await list()) as Error).message).toBe("Streams cannot be read or changed at the moment. Try again.");
});
