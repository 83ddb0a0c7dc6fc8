/** Publishing to a channel and sending to a peer over REST, for backends and for operators. */
import { z } from "zod";
import type { Credential } from "../../access/keys/credential.ts";
import { TOKEN_PEER_METADATA_MAX_BYTES } from "../../access/limits.ts";
import { type AppId, spaceOf } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { Envelope } from "../../engine/engine.ts";
import { type Action, bitOf } from "../../protocol/actions.ts";
import { Problem } from "../../protocol/codes.ts";
import { MESSAGE_MAX_BYTES } from "../../protocol/limits.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import { positionText } from "../../protocol/position.ts";
import { SEND_REFUSED } from "../../realtime/messages/direct-texts.ts";
import type { Directs, SendRefusal } from "../../realtime/messages/directs.ts";
import type { Outcome } from "../../realtime/streams/outcomes.ts";
import type { Publishing } from "../../realtime/streams/publishing.ts";
import { NOT_KNOWN_TO_BE_STORED } from "../../realtime/streams/texts.ts";
import { bag, checkBagSize, kilobytes, messageId, peerId } from "./schemas.ts";

const RETRY_SECONDS = 1;
/** Ids of messages that operators publish and send are unique among these. */
export const OPERATORS = "operators";

/** A message that a backend sends: `data` and `peerMetadata` are passed on byte for byte. */
export const message = lazily(() =>
  z.object({
    data: z
      .custom<unknown>((value) => value !== undefined, "is required (any JSON value, null included)")
      .meta({ description: "Any JSON value." }),
    from: peerId().describe('The sender\'s peer id; "server" if absent.').optional(),
    peerMetadata: bag()
      .describe(`Shown as the sender's metadata; at most ${kilobytes(TOKEN_PEER_METADATA_MAX_BYTES)} as it is sent.`)
      .optional(),
    id: messageId()
      .describe(
        "Passed on to receivers. On a channel with history, and to a peer, a second message with the same id within two minutes is a duplicate: it is not delivered again.",
      )
      .optional(),
  }),
);

export interface RestMessage {
  readonly from: string;
  readonly metadataJson: string | undefined;
  readonly dataJson: string;
  readonly id?: string;
}

/** `textOf`: the text of a field's value, as it was sent. */
export function readMessage(
  body: Infer<typeof message>,
  textOf: (field: "data" | "peerMetadata") => string | undefined,
): RestMessage {
  const dataJson = textOf("data") ?? "null";
  if (utf8Bytes(dataJson) > MESSAGE_MAX_BYTES)
    throw new Problem("invalid_request", `data: must be at most ${MESSAGE_MAX_BYTES} bytes as JSON`);
  const metadataJson = textOf("peerMetadata");
  checkBagSize("peerMetadata", metadataJson, TOKEN_PEER_METADATA_MAX_BYTES);
  const from = body.from ?? "server";
  return body.id === undefined ? { from, metadataJson, dataJson } : { from, metadataJson, dataJson, id: body.id };
}

export const published = lazily(() =>
  z.object({
    channel: z.string(),
    published: z.literal(true),
    pos: z.string().describe("Its position, on a channel with history.").optional(),
    duplicate: z.literal(true).describe("A message with this id was already published; this one was not.").optional(),
  }),
);
export const delivered = lazily(() => z.object({ peerId: z.string(), delivered: z.literal(true) }));

/** Throws the Problem for which the message was delivered to no one. `idScope`: within which ids are unique. */
export async function publishMessage(
  publishing: Pick<Publishing, "publish">,
  app: AppId,
  channel: string,
  one: RestMessage,
  idScope: string,
): Promise<Infer<typeof published>> {
  const envelope = withScope(one, idScope);
  const outcome = await new Promise<Outcome>((resolve) => publishing.publish(spaceOf(app), channel, envelope, resolve));
  if (outcome === "unconfirmed") throw new Problem("backend_error", NOT_KNOWN_TO_BE_STORED, RETRY_SECONDS);
  if (outcome === "delivered") return { channel, published: true };
  if (typeof outcome === "string") throw new Problem(outcome);
  const pos = positionText(outcome);
  return outcome.isDuplicate ? { channel, published: true, pos, duplicate: true } : { channel, published: true, pos };
}

/** Without an id there is nothing to be unique, and other nodes get no scope. */
const withScope = (one: RestMessage, idScope: string): Envelope => (one.id === undefined ? one : { ...one, idScope });

const mayPass = (refused: SendRefusal): boolean => refused === "backend_error" || refused === "rate_limited";

/** The same for a direct message; after `backend_error` it may have been delivered. */
export async function sendMessage(
  directs: Pick<Directs, "send">,
  app: AppId,
  peerId: string,
  one: RestMessage,
  idScope: string,
): Promise<Infer<typeof delivered>> {
  const refused = await directs.send(spaceOf(app), peerId, withScope(one, idScope));
  if (refused) throw new Problem(refused, SEND_REFUSED[refused], mayPass(refused) ? RETRY_SECONDS : undefined);
  return { peerId, delivered: true };
}

export function permit(credential: Credential, action: Action): void {
  if ((credential.key.actions & bitOf(action)) === 0)
    throw new Problem("action_not_permitted", `The key does not permit ${action}.`);
}
