import { expect, test } from "bun:test";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { asAppId } from "../../base/ids.ts";
import type { WebhookRow } from "../../store/contract/webhooks.ts";
import type { Recipient } from "./recipient.ts";
import { bodyOf, requestOf } from "./request.ts";

const ROW: WebhookRow = {
  id: "0123456789abcdef01234567",
  app: asAppId("a1"),
  kind: "control",
  url: "https://example.org/hook",
  events: ["*"],
  channelPatterns: null,
  description: null,
  headerNames: [],
  headersSealed: null,
  created: 1,
  disabled: null,
  disabledWhy: null,
};
const OLD = Buffer.alloc(24, 1);
const NEW = Buffer.alloc(24, 2);
const textOf = (key: Buffer): string => `whsec_${key.toString("base64")}`;
const recipient = (secrets: Recipient["secrets"], headers = {}): Recipient => ({
  row: ROW,
  secrets,
  headers,
  channels: null,
});
const current = recipient([{ key: NEW, ends: null }]);

const MESSAGE = {
  webhook: ROW.id,
  seq: 17,
  type: "channel.occupied",
  happened: Date.UTC(2027, 0, 15),
  data: '{"app":"a1","appName":"shop","channel":"löbby"}',
} as const;

const now = (): number => Math.floor(performance.timeOrigin + performance.now());

function sent(to: Recipient, atMs = now()) {
  const request = requestOf(MESSAGE, to, atMs);
  if (!request) throw new Error("nothing signs it");
  return request;
}

const verified = (key: Buffer, { headers, body }: ReturnType<typeof sent>): unknown =>
  new Webhook(textOf(key)).verify(body, headers);

test("the public library verifies what is sent", () => {
  const request = sent(current);
  expect(verified(NEW, request)).toEqual({
    type: "channel.occupied",
    timestamp: "2027-01-15T00:00:00.000Z",
    data: { app: "a1", appName: "shop", channel: "löbby", seq: 17 },
  });
  expect(request.headers["webhook-id"]).toBe(`msg_${ROW.id}_17`);
});

test("during a rotation both secrets sign, and after it the new one only", () => {
  const endsMs = now();
  const rotating = recipient([
    { key: NEW, ends: null },
    { key: OLD, ends: endsMs },
  ]);
  const during = sent(rotating, endsMs - 1000);
  expect(() => verified(OLD, during)).not.toThrow();
  expect(() => verified(NEW, during)).not.toThrow();
  const after = sent(rotating, endsMs);
  expect(() => verified(OLD, after)).toThrow(WebhookVerificationError);
  expect(() => verified(NEW, after)).not.toThrow();
});

test("a changed byte, an old time and another endpoint's secret are refused", () => {
  const request = sent(current);
  for (const at of [0, 20, request.body.length - 1]) {
    const body =
      request.body.slice(0, at) + String.fromCharCode(request.body.charCodeAt(at) ^ 1) + request.body.slice(at + 1);
    expect(() => verified(NEW, { ...request, body })).toThrow(WebhookVerificationError);
  }
  const otherId = { ...request, headers: { ...request.headers, "webhook-id": `msg_${ROW.id}_18` } };
  expect(() => verified(NEW, otherId)).toThrow(WebhookVerificationError);
  expect(() => verified(NEW, sent(current, now() - 6 * 60_000))).toThrow(WebhookVerificationError);
  expect(() => verified(OLD, request)).toThrow(WebhookVerificationError);
});

test("extra headers are sent, and do not replace ours", () => {
  const { headers } = sent(recipient([{ key: NEW, ends: null }], { authorization: "Bearer x", "webhook-id": "mine" }));
  expect(headers.authorization).toBe("Bearer x");
  expect(headers["webhook-id"]).toBe(`msg_${ROW.id}_17`);
});

test("what nothing can sign is not sent", () => {
  expect(requestOf(MESSAGE, recipient([]), now())).toBeUndefined();
});

test("the longest data leaves the body below 20 KB", () => {
  const data = JSON.stringify({ app: "x".repeat(19 * 1024 - 10) });
  expect(
    Buffer.byteLength(bodyOf({ ...MESSAGE, type: "participant.waiting", seq: Number.MAX_SAFE_INTEGER, data })),
  ).toBeLessThan(20_000);
});
