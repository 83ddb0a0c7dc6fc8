/** The table of fields of rooms.md, row by row: default, accepted values, values that unset it, refused values. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { FIELD_NAMES } from "../../src/rooms/fields.ts";
import { expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { type Answer, call, type Json } from "../support/http.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const app = await newApplication(server);

interface Row {
  /** undefined: the record does not have the field before it is set. */
  readonly initial?: unknown;
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
  readonly unsets?: readonly unknown[];
}

const NOT_FLAGS = [0, 1, "true", "false", "", "yes", [], {}];
const flag = (initial?: boolean): Row => ({ initial, good: [true, false], bad: NOT_FLAGS });

const NOT_NUMBERS = [-1, "10", "", true, [], {}, 1e300, "x"];
const limit = (max: number): Row => ({ good: [1, max], bad: [...NOT_NUMBERS, 1.5, max + 1], unsets: [0, null] });
/** A time in milliseconds is a mistake, not the year 50000. */
const time: Row = {
  good: [1, 1_900_000_000, 253_402_300_799],
  bad: [...NOT_NUMBERS, 1_900_000_000_000],
  unsets: [0, null],
};
const webhook: Row = {
  good: ["https://example.com", "http://10.0.0.1:8080/a?b=c#d", `https://example.com/${"x".repeat(2000)}`],
  bad: [
    1,
    true,
    [],
    {},
    "example.com",
    "ftp://example.com",
    "javascript:alert(1)",
    "https://",
    "https:example.com",
    "//example.com",
    "https://exa mple.com",
    "https://example.com/\n",
    "https://[::1",
    `https://example.com/${"x".repeat(2100)}`,
  ],
  unsets: [null, ""],
};

const ROWS: Readonly<Record<string, Row>> = {
  privacy: { initial: "public", good: ["private", "public"], bad: [0, "", "Public", "secret", true, ["public"]] },
  expireUnixSec: time,
  ejectAtRoomExp: flag(false),
  deleteOnExp: flag(false),
  notBeforeUnixSec: time,
  maxParticipants: limit(100_000),
  ejectAfterElapsedTimeInSec: limit(31_536_000),
  endMeetingAfterNoActivityInSec: limit(31_536_000),
  autoJoin: flag(false),
  enableRequestToJoin: flag(true),
  enableChat: flag(true),
  enableScreenSharing: flag(true),
  showInviteBox: flag(),
  newChatForMeetingSession: flag(),
  joinVideoOn: flag(true),
  joinAudioOn: flag(true),
  enableRecording: flag(false),
  recordRoom: flag(),
  ownerOnlyBroadcast: flag(false),
  audioOnlyRoom: flag(),
  lang: {
    initial: "en",
    good: ["de", "pt-BR", "zh-Hant-TW", "en-US-u-ca-gregory"],
    bad: [0, "", "e", "en_US", "english language", "x".repeat(70), "../en", true, []],
  },
  meetingJoinWebhook: webhook,
  meetingLeftWebhook: webhook,
  meetingStartedWebhook: webhook,
  meetingEndedWebhook: webhook,
};

test("every field has its row in this test", () => {
  expect(Object.keys(ROWS).sort()).toEqual([...FIELD_NAMES].sort());
});

function refusedFor(answer: Answer<unknown>, field: string): void {
  const { error, message } = expectAppRefusal(answer, 400, "invalid_request");
  expect(error.details?.map((one) => one.field)).toEqual([field]);
  expect(message).toStartWith(`${field}: `);
}

for (const [field, { initial, good, bad, unsets = [] }] of Object.entries(ROWS))
  describe(field, () => {
    let room: string;
    const put = (value: unknown): Promise<Json> => app.must("PUT", `/room/${room}`, { [field]: value });
    beforeAll(async () => {
      room = `of-${field}`;
      await app.must("POST", "/room", { roomName: room });
    });

    test(`is ${initial ?? "absent"} if it was not set`, async () => {
      const { [field]: value } = await app.must("GET", `/room/${room}`);
      expect(value).toBe(initial);
    });

    test("is accepted, stored and returned, at creation and by an edit", async () => {
      for (const value of good) {
        const { roomName, ...made } = await app.must("POST", "/room", { [field]: value });
        expect(made[field]).toEqual(value);
        await app.must("DELETE", `/room/${roomName}`);
        expect((await put(value))[field]).toEqual(value);
        expect((await app.must("GET", `/room/${room}`))[field]).toEqual(value);
        // An edit of another field does not change it.
        expect((await app.must("PUT", `/room/${room}`, {}))[field]).toEqual(value);
      }
    });

    if (unsets.length > 0)
      test(`is unset by ${unsets.map((one) => JSON.stringify(one)).join(" and ")}`, async () => {
        for (const value of unsets) {
          await put(good[0]);
          expect(await put(value)).not.toHaveProperty(field);
          expect(await app.must("GET", `/room/${room}`)).not.toHaveProperty(field);
          const made = await app.must("POST", "/room", { [field]: value });
          expect(made).not.toHaveProperty(field);
          await app.must("DELETE", `/room/${made.roomName}`);
        }
      });

    test("is refused and named if it has the wrong type or is out of range, and nothing is created or changed", async () => {
      const before = await app.must("GET", `/room/${room}`);
      const count = (await app.must<Json[]>("GET", "/rooms")).length;
      for (const value of [...bad, "x".repeat(120_000)]) {
        refusedFor(await app.call("POST", "/room", { roomName: `not-${field}`, [field]: value }), field);
        refusedFor(await app.call("PUT", `/room/${room}`, { [field]: value }), field);
      }
      const megabyte = await app.call("POST", "/room", { [field]: "x".repeat(1_000_000) });
      expectAppRefusal(megabyte, 413, "body_too_large");
      expect(await app.must("GET", `/room/${room}`)).toEqual(before);
      expect((await app.must<Json[]>("GET", "/rooms")).length).toBe(count);
    });
  });

test("fractions of a second are cut off", async () => {
  const made = await app.must("POST", "/room", { expireUnixSec: 1_900_000_000.75, notBeforeUnixSec: 0.5 });
  expect(made.expireUnixSec).toBe(1_900_000_000);
  expect(made).not.toHaveProperty("notBeforeUnixSec");
});

test("null means absent for a field that it does not unset", async () => {
  const { roomName } = await app.must("POST", "/room", { roomName: null, privacy: "private", enableChat: false });
  const nulls = { roomName: null, privacy: null, enableChat: null, lang: null };
  const { status, body } = await app.call("PUT", `/room/${roomName}`, nulls);
  expect(status).toBe(200);
  expect(body).toMatchObject({ roomName, privacy: "private", enableChat: false, lang: "en" });
});

test("a form may use True and False", async () => {
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  const { body } = await app.call("POST", "/room", "enableChat=False&autoJoin=TRUE", { headers });
  expect(body).toMatchObject({ enableChat: false, autoJoin: true });
});

test("a webhook's address is not contacted when it is set", async () => {
  let asked = 0;
  using listener = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(String(++asked)) });
  const hook = `http://127.0.0.1:${listener.port}/`;
  for (const field of Object.keys(ROWS).filter((name) => name.endsWith("Webhook")))
    await app.must("POST", "/room", { [field]: hook });
  expect((await call(hook)).text).toBe("1");
});
