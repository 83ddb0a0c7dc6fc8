/** Names of channels and peers in paths. */
import { Problem } from "../../protocol/codes.ts";
import { CHANNEL_MAX_BYTES, PEER_ID_MAX_CHARS } from "../../protocol/limits.ts";
import { isChannelName, isPeerId, isReserved } from "../../protocol/names.ts";
import type { Call } from "./call.ts";

export const channelIn = (call: Call): string => checkedChannel(call.params.channel);

export function checkedChannel(name: string | undefined): string {
  if (!isChannelName(name))
    throw new Problem(
      "invalid_request",
      `channel: must be 1 to ${CHANNEL_MAX_BYTES} bytes without control characters and '*'`,
    );
  if (isReserved(name)) throw new Problem("channel_reserved");
  return name;
}

export function peerIn(call: Call): string {
  const { peerId } = call.params;
  if (!isPeerId(peerId))
    throw new Problem("invalid_request", `peerId: must be 1 to ${PEER_ID_MAX_CHARS} printable ASCII characters`);
  return peerId;
}
