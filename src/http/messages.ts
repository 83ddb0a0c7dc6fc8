/** Publishing to a channel and sending to a peer over REST, for backends and for operators. */
import { z } from "zod";
import type { Credential } from "../access/credential.ts";
import { TOKEN_PEER_METADATA_MAX_BYTES } from "../access/limits.ts";
import { type Action, bitOf } from "../protocol/actions.ts";
import { Problem } from "../protocol/codes.ts";
import { MESSAGE_MAX_BYTES } from "../protocol/limits.ts";
import { utf8Bytes } from "../protocol/names.ts";
import { rawValue } from "../protocol/scan.ts";
import type { Hub } from "../realtime/hub.ts";
import { bag, checkBagSize, kilobytes, peerId } from "./schemas.ts";

/** A message that a backend sends: `data` and `peerMetadata` are passed on byte for byte. */
export const message = z.object({
  data: z
    .custom<unknown>((value) => value !== undefined, "is required (any JSON value, null included)")
    .meta({ description: "Any JSON value." }),
  from: peerId.describe('The sender\'s peer id; "server" if absent.').optional(),
  peerMetadata: bag
    .describe(`Shown as the sender's metadata; at most ${kilobytes(TOKEN_PEER_METADATA_MAX_BYTES)} as it is sent.`)
    .optional(),
});

export interface RestMessage {
  readonly from: string;
  readonly metadataJson: string | undefined;
  readonly dataJson: string;
}

export function readMessage(body: z.infer<typeof message>, text: string): RestMessage {
  const dataJson = rawValue(text, "data") ?? "null";
  if (utf8Bytes(dataJson) > MESSAGE_MAX_BYTES)
    throw new Problem("invalid_request", `data: must be at most ${MESSAGE_MAX_BYTES} bytes as JSON`);
  const metadataJson = rawValue(text, "peerMetadata");
  checkBagSize("peerMetadata", metadataJson, TOKEN_PEER_METADATA_MAX_BYTES);
  return { from: body.from ?? "server", metadataJson, dataJson };
}

export const published = z.object({ channel: z.string(), published: z.literal(true) });
export const delivered = z.object({ peerId: z.string(), delivered: z.literal(true) });

/** Throws the Problem for which the message was delivered to no one. */
export function publishMessage(hub: Hub, app: string, channel: string, one: RestMessage): z.infer<typeof published> {
  const refused = hub.delivery.publish(app, channel, one);
  if (refused) throw new Problem(refused);
  return { channel, published: true };
}

/** The same for a direct message. */
export async function sendMessage(
  hub: Hub,
  app: string,
  peerId: string,
  one: RestMessage,
): Promise<z.infer<typeof delivered>> {
  const refused = await hub.delivery.send(app, peerId, one);
  if (refused) throw new Problem(refused);
  return { peerId, delivered: true };
}

export function permit(credential: Credential, action: Action): void {
  if ((credential.key.actions & bitOf(action)) === 0)
    throw new Problem("action_not_permitted", `The key does not permit ${action}.`);
}
