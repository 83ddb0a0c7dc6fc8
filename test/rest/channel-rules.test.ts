/** Channel rules over the control plane (history.md 1). Every response is also checked against /openapi.json. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";

setDefaultTimeout(60_000);

const { admin } = await checkedServerForTests();

interface AppWithRules extends Json {
  readonly channelRules: Json[];
  readonly maxHistoryBytes: number;
  readonly maxStreamBytes: number;
}

const { _id: app } = await admin.createApp();
const path = `/apps/${app}`;
const show = (): Promise<AppWithRules> => admin.must("GET", path);
const patch = (body: Json): Promise<AppWithRules> => admin.must("PATCH", path, body);

const HISTORY = { messages: 500, seconds: 604_800 };

test("an application begins without rules, and with 1 GiB of history and of streams", async () => {
  const { _id } = await admin.createApp();
  expect(await admin.must<AppWithRules>("GET", `/apps/${_id}`)).toMatchObject({
    channelRules: [],
    maxHistoryBytes: 1_073_741_824,
    maxStreamBytes: 1_073_741_824,
  });
});

test("rules are replaced as a whole, and other fields leave them alone", async () => {
  const rules = [
    { pattern: "chat/*", history: HISTORY },
    { pattern: "**/room", graceSec: 30 },
    { pattern: "runs/*", stream: { seconds: 60, bytes: 65_536 } },
    { pattern: "files/*", stream: { seconds: 2_592_000, bytes: 268_435_456 }, graceSec: 1 },
    { pattern: "**", history: { messages: 10_000, seconds: 2_592_000 }, graceSec: 120 },
  ];
  const shown = rules.map((rule) => ({ graceSec: 0, ...rule }));
  expect((await patch({ channelRules: rules })).channelRules).toEqual(shown);
  expect((await patch({ maxHistoryBytes: 1_048_576 })).channelRules).toEqual(shown);
  expect((await patch({ maxStreamBytes: 2_097_152 })).channelRules).toEqual(shown);
  expect(await show()).toMatchObject({ channelRules: shown, maxHistoryBytes: 1_048_576, maxStreamBytes: 2_097_152 });
  // What is shown can be sent back.
  expect((await patch({ channelRules: (await show()).channelRules })).channelRules).toEqual(shown);
  const one = [{ pattern: "only", history: { messages: 1, seconds: 1 }, graceSec: 0 }];
  expect((await patch({ channelRules: one })).channelRules).toEqual(one);
  expect((await patch({ channelRules: [] })).channelRules).toEqual([]);
});

test("50 rules are the most", async () => {
  const rules = (count: number): Json[] => Array.from({ length: count }, (_, at) => ({ pattern: `a/${at}/*` }));
  expect((await patch({ channelRules: rules(50) })).channelRules).toHaveLength(50);
  expect(await refused(admin, INVALID, "PATCH", path, { channelRules: rules(51) })).toBe(
    "channelRules: must have at most 50 entries",
  );
});

const history = (fields: unknown): Json => ({ channelRules: [{ pattern: "a" }, { pattern: "b", history: fields }] });
const stream = (fields: unknown): Json => ({ channelRules: [{ pattern: "a" }, { pattern: "b", stream: fields }] });
const second = (fields: Json): Json => ({ channelRules: [{ pattern: "a" }, { pattern: "b", ...fields }] });

describe("refused with the field and what is allowed, without any change", () => {
  test.each<[Json, string]>([
    [{ channelRules: null }, "channelRules: must be a list"],
    [{ channelRules: {} }, "channelRules: must be a list"],
    [{ channelRules: ["chat/*"] }, "channelRules.0: must be an object"],
    [{ channelRules: [{}] }, "channelRules.0.pattern: is missing; it must be text"],
    [{ channelRules: [{ pattern: 1 }] }, "channelRules.0.pattern: must be text"],
    [second({ pattern: "" }), "channelRules.1.pattern: a pattern must not be empty"],
    [second({ pattern: "a***" }), "channelRules.1.pattern: a pattern must not contain '***'"],
    [second({ pattern: "a\\" }), "channelRules.1.pattern: in a pattern '\\' must be followed by '*' or '\\'"],
    [second({ pattern: "a\u0001" }), "channelRules.1.pattern: a pattern must not contain control characters"],
    [second({ pattern: "x".repeat(257) }), "channelRules.1.pattern: a pattern must be at most 256 bytes"],
    [second({ pattern: "a" }), "channelRules.1.pattern: is also the pattern of channelRules.0"],
    [second({ hystory: HISTORY }), 'channelRules.1.hystory: there is no such field; did you mean "history"?'],
    [
      second({ replay: true }),
      "channelRules.1.replay: there is no such field; there are pattern, history, stream, graceSec.",
    ],
    [
      history({ ...HISTORY, bytes: 1 }),
      "channelRules.1.history.bytes: there is no such field; there are messages, seconds.",
    ],
    [history(null), "channelRules.1.history: must be an object"],
    [history(500), "channelRules.1.history: must be an object"],
    [history({ seconds: 1 }), "channelRules.1.history.messages: is missing; it must be a whole number from 1 to 10000"],
    [
      history({ messages: 1 }),
      "channelRules.1.history.seconds: is missing; it must be a whole number from 1 to 2592000",
    ],
    ...[0, 10_001, 1.5, "5", null].map((messages): [Json, string] => [
      history({ messages, seconds: 1 }),
      "channelRules.1.history.messages: must be a whole number from 1 to 10000",
    ]),
    ...[0, 2_592_001, -1, "7d", null].map((seconds): [Json, string] => [
      history({ messages: 1, seconds }),
      "channelRules.1.history.seconds: must be a whole number from 1 to 2592000",
    ]),
    [
      second({ history: HISTORY, stream: { seconds: 1, bytes: 65_536 } }),
      "channelRules.1.stream: cannot be in a rule with history; remove one of them",
    ],
    [stream(true), "channelRules.1.stream: must be an object"],
    [
      stream({ seconds: 1 }),
      "channelRules.1.stream.bytes: is missing; it must be a whole number from 65536 to 268435456",
    ],
    [
      stream({ seconds: 1, bytes: 65_536, messages: 1 }),
      "channelRules.1.stream.messages: there is no such field; there are seconds, bytes.",
    ],
    ...[0, 2_592_001, 1.5, "7d", null].map((seconds): [Json, string] => [
      stream({ seconds, bytes: 65_536 }),
      "channelRules.1.stream.seconds: must be a whole number from 1 to 2592000",
    ]),
    ...[65_535, 268_435_457, 1e5 + 0.5, "1MB", null].map((bytes): [Json, string] => [
      stream({ seconds: 1, bytes }),
      "channelRules.1.stream.bytes: must be a whole number from 65536 to 268435456",
    ]),
    ...[1_048_575, 109_951_162_777_601, null].map((maxStreamBytes): [Json, string] => [
      { maxStreamBytes },
      "maxStreamBytes: must be a whole number from 1048576 to 109951162777600",
    ]),
    ...[-1, 121, 0.5, "30", null].map((graceSec): [Json, string] => [
      second({ graceSec }),
      "channelRules.1.graceSec: must be a whole number from 0 to 120",
    ]),
    ...[0, 1_048_575, 109_951_162_777_601, 1.5e6 + 0.5, "1GB", null].map((maxHistoryBytes): [Json, string] => [
      { maxHistoryBytes },
      "maxHistoryBytes: must be a whole number from 1048576 to 109951162777600",
    ]),
  ])("%j", async (body, text) => {
    const before = await show();
    expect(await refused(admin, INVALID, "PATCH", path, { retentionDays: 5, ...body })).toStartWith(text);
    expect(await show()).toEqual(before);
  });
});

test("the audit has the rules before and after, one line per rule", async () => {
  await patch({
    channelRules: [
      { pattern: "chat/*", history: HISTORY, graceSec: 30 },
      { pattern: "**" },
      { pattern: "s", stream: { seconds: 60, bytes: 65_536 }, graceSec: 5 },
    ],
  });
  await patch({ channelRules: [], maxHistoryBytes: 2_097_152 });
  const { data } = await admin.must<{ data: Json[] }>("GET", `/audit?app=${app}&limit=1`);
  expect(data[0]).toMatchObject({
    what: "app edited",
    before: {
      channelRules: [
        "chat/*  keeps 500 messages for 604800 s, grace 30 s",
        "**  no history",
        "s  streams of at most 65536 bytes, deleted when unused for 60 s, grace 5 s",
      ],
    },
    after: { channelRules: [], maxHistoryBytes: 2_097_152 },
  });
});

interface Match {
  readonly rule: Json | null;
  readonly keys: Json[];
}

describe("which rule and which keys apply to a channel", () => {
  const match = (channel: string): Promise<Match> =>
    admin.must("GET", `${path}/channel-rules/match?channel=${encodeURIComponent(channel)}`);

  test("the first rule that matches, and the live keys that cover the name", async () => {
    await patch({
      channelRules: [
        { pattern: "chat/vip", graceSec: 5 },
        { pattern: "chat/*", history: HISTORY },
      ],
    });
    const chat = await admin.createPublishable(app, {
      channelPatterns: ["chat/*"],
      actions: ["subscribe"],
      label: "web",
    });
    const all = await admin.createKey(app, { channelPatterns: ["**"] });
    const news = await admin.createKey(app, { channelPatterns: ["news"] });
    await admin.revoke((await admin.createKey(app, { channelPatterns: ["**"] })).keyId);
    const inChat = [
      { keyId: chat.keyId, label: "web", type: "publishable", actions: ["subscribe"] },
      { keyId: all.keyId, label: null, type: "secret", actions: all.actions },
    ];
    const byId = (keys: readonly Json[]): Json[] =>
      keys.toSorted((one, other) => (String(one.keyId) < String(other.keyId) ? -1 : 1));
    const vip = await match("chat/vip");
    expect(vip).toMatchObject({ channel: "chat/vip", rule: { index: 0, pattern: "chat/vip", graceSec: 5 } });
    expect(byId(vip.keys)).toEqual(byId(inChat));
    expect(await match("chat/42")).toMatchObject({
      rule: { index: 1, pattern: "chat/*", history: HISTORY, graceSec: 0 },
    });
    const deep = await match("chat/42/x");
    expect([deep.rule, deep.keys.map(({ keyId }) => keyId)]).toEqual([null, [all.keyId]]);
    expect((await match("news")).keys.map(({ keyId }) => keyId).sort()).toEqual([all.keyId, news.keyId].sort());
  });

  test.each([
    ["", 400, "invalid_request"],
    ["?channel=", 400, "invalid_request"],
    ["?channel=a*", 400, "invalid_request"],
    [`?channel=${"x".repeat(257)}`, 400, "invalid_request"],
    ["?chanel=a", 400, "invalid_request"],
    ["?channel=_parley/room/x", 400, "channel_reserved"],
  ])("refused: %j", async (query, status, error) => {
    const answer = await admin.call("GET", `${path}/channel-rules/match${query}`);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });

  test("of an application that does not exist", async () => {
    await refused(admin, NOT_FOUND, "GET", "/apps/unknown/channel-rules/match?channel=a");
  });
});

test("an explanation says whether a channel keeps its messages", async () => {
  await patch({
    channelRules: [
      { pattern: "chat/*", history: HISTORY },
      { pattern: "room", graceSec: 5 },
    ],
  });
  const { keyId } = await admin.createPublishable(app);
  const why = async (channel: string): Promise<unknown> => {
    const question = { key: keyId, channel, action: "subscribe" };
    const { checks } = await admin.must<{ checks: Json[] }>("POST", "/explain", question);
    return checks.find(({ name }) => name === "channel")?.why;
  };
  expect(await why("chat/1")).toBe("The channel rule chat/* applies: it keeps 500 messages for 7 days.");
  expect(await why("room")).toBe("The channel rule room applies: it keeps no messages.");
  expect(await why("news")).toBe("No channel rule matches this name, so its messages are not stored.");
});
