/** Publishing to a channel and sending to a peer over REST, for backends and for operators. */
import { z } from "zod";
import type { Credential } from "../../access/keys/credential.ts";
import { TOKEN_PEER_METADATA_MAX_BYTES } from "../../access/limits.ts";
import { type Action, bitOf } from "../../protocol/actions.ts";
import { Problem } from "../../protocol/codes.ts";
import { MESSAGE_MAX_BYTES } from "../../protocol/limits.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import { positionText } from "../../protocol/position.ts";
import { rawValue } from "../../protocol/scan.ts";
import type { Hub } from "../../realtime/hub.ts";
import { SEND_REFUSED } from "../../realtime/messages/direct-texts.ts";
import type { SendRefusal } from "../../realtime/messages/directs.ts";
import type { Outcome, Publication } from "../../realtime/streams/publishing.ts";
import { NOT_KNOWN_TO_BE_STORED } from "../../realtime/streams/texts.ts";
import { bag, checkBagSize, kilobytes, messageId, peerId } from "./schemas.ts";

const RETRY_SECONDS = 1;
/** Ids of messages that operators publish and send are unique among these. */
export const OPERATORS = "operators";

/** A message that a backend sends: `data` and `peerMetadata` are passed on byte for byte. */
export const message = z.object({
  data: z
    .custom<unknown>((value) => value !== undefined, "is required (any JSON value, null included)")
    .meta({ description: "Any JSON value." }),
  from: peerId.describe('The sender\'s peer id; "server" if absent.').optional(),
  peerMetadata: bag
    .describe(`Shown as the sender's metadata; at most ${kilobytes(TOKEN_PEER_METADATA_MAX_BYTES)} as it is sent.`)
    .optional(),
  id: messageId
    .describe(
      "Passed on to receivers. On a channel with history, and to a peer, a second message with the same id within two minutes is a duplicate: it is not delivered again.",
    )
    .optional(),
});

export interface RestMessage {
  readonly from: string;
  readonly metadataJson: string | undefined;
  readonly dataJson: string;
  readonly id?: string;
}

export function readMessage(body: z.infer<typeof message>, text: string): RestMessage {
  const dataJson = rawValue(text, "data") ?? "null";
  if (utf8Bytes(dataJson) > MESSAGE_MAX_BYTES)
    throw new Problem("invalid_request", `data: must be at most ${MESSAGE_MAX_BYTES} bytes as JSON`);
  const metadataJson = rawValue(text, "peerMetadata");
  checkBagSize("peerMetadata", metadataJson, TOKEN_PEER_METADATA_MAX_BYTES);
  const from = body.from ?? "server";
  return body.id === undefined ? { from, metadataJson, dataJson } : { from, metadataJson, dataJson, id: body.id };
}

export const published = z.object({
  channel: z.string(),
  published: z.literal(true),
  pos: z.string().describe("Where it is, on a channel with history.").optional(),
  duplicate: z.literal(true).describe("It was published before under this id, and is not published again.").optional(),
});
export const delivered = z.object({ peerId: z.string(), delivered: z.literal(true) });

/** Throws the Problem for which the message was delivered to no one. `idScope`: within which ids are unique. */
export async function publishMessage(
  hub: Hub,
  app: string,
  channel: string,
  one: RestMessage,
  idScope: string,
): Promise<z.infer<typeof published>> {
  const keep = hub.streams.ruleOf(app, channel)?.history;
  if (keep) return storeMessage(hub, { app, channel, keep, envelope: one, idScope });
  const refused = hub.delivery.publish(app, channel, one);
  if (refused) throw new Problem(refused);
  return { channel, published: true };
}

async function storeMessage(hub: Hub, publication: Publication): Promise<z.infer<typeof published>> {
  const outcome = await new Promise<Outcome>((resolve) => hub.publishing.publish(publication, resolve));
  if (outcome === "backend_error") throw new Problem(outcome, NOT_KNOWN_TO_BE_STORED, RETRY_SECONDS);
  if (typeof outcome === "string") throw new Problem(outcome);
  const { channel } = publication;
  const pos = positionText(outcome);
  return outcome.isDuplicate ? { channel, published: true, pos, duplicate: true } : { channel, published: true, pos };
}

const mayPass = (refused: SendRefusal): boolean => refused === "backend_error" || refused === "rate_limited";

/** The same for a direct message; after `backend_error` it may have been delivered. */
export async function sendMessage(
  hub: Hub,
  app: string,
  peerId: string,
  one: RestMessage,
  idScope: string,
): Promise<z.infer<typeof delivered>> {
  const envelope = one.id === undefined ? one : { ...one, idScope };
  const refused = await hub.directs.send(app, peerId, envelope);
  if (refused) throw new Problem(refused, SEND_REFUSED[refused], mayPass(refused) ? RETRY_SECONDS : undefined);
  return { peerId, delivered: true };
}

export function permit(credential: Credential, action: Action): void {
  if ((credential.key.actions & bitOf(action)) === 0)
    throw new Problem("action_not_permitted", `The key does not permit ${action}.`);
}
