/** One message as it is sent: Standard Webhooks 1.0.0. The signature is made with each attempt, because it contains the time of the attempt. */
import { createHmac } from "node:crypto";
import type { PinnedRequest } from "../../net/pinned.ts";
import type { WebhookMessageRow } from "../../store/contract/webhooks.ts";
import { VERSION } from "../../version.ts";
import type { Recipient } from "./recipient.ts";

type Sendable = Pick<WebhookMessageRow, "webhook" | "seq" | "type" | "happened" | "data">;

/** The same over all attempts, and when it is sent again on request. */
export const idOf = ({ webhook, seq }: Pick<Sendable, "webhook" | "seq">): string => `msg_${webhook}_${seq}`;

/** `data` is the text of an object that is not empty. */
export const bodyOf = ({ type, happened, data, seq }: Sendable): string =>
  `{"type":"${type}","timestamp":"${new Date(happened).toISOString()}","data":${data.slice(0, -1)},"seq":${seq}}}`;

/** undefined: nothing can sign it. */
export function requestOf(message: Sendable, recipient: Recipient, nowMs: number): PinnedRequest | undefined {
  return signedRequest(idOf(message), bodyOf(message), recipient, nowMs);
}

export function signedRequest(
  id: string,
  body: string,
  { row, secrets, headers }: Recipient,
  nowMs: number,
): PinnedRequest | undefined {
  const live = secrets.filter(({ ends }) => ends === null || nowMs < ends);
  if (live.length === 0) return undefined;
  const timestamp = Math.floor(nowMs / 1000);
  const signatures = live.map(({ key }) => `v1,${signature(key, `${id}.${timestamp}.${body}`)}`);
  return {
    url: row.url,
    isTrusted: row.kind === "control",
    headers: {
      ...headers,
      "content-type": "application/json",
      "user-agent": `Parley/${VERSION} (webhooks)`,
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signatures.join(" "),
    },
    body,
  };
}

const signature = (key: Buffer, text: string): string => createHmac("sha256", key).update(text).digest("base64");
