/** Names of streams in addresses: `/v1/stream/<channel>`, with raw or encoded slashes. */
import { Problem } from "../../protocol/codes.ts";
import type { Call } from "../request/call.ts";
import { channelIn, checkedChannel } from "../request/path-names.ts";

export const STREAM_PATH = "/v1/stream/:channel";
const PREFIX = "/v1/stream/";
/** The protocol keeps names below this for itself. */
const RESERVED_SEGMENT = "__ds";

export function streamIn(call: Call): string {
  const channel = channelIn(call);
  if (channel.split("/", 1)[0] === RESERVED_SEGMENT) throw new Problem("not_found");
  return channel;
}

/** Without its query, which may hold a credential. */
export function addressOf(call: Call, channel: string): string {
  const segments = channel.split("/");
  // Clients resolve such segments unless their slashes are encoded.
  const isPlain = !segments.some((one) => one === "" || one === "." || one === "..");
  return `${call.origin}${PREFIX}${isPlain ? segments.map(encodeURIComponent).join("/") : encodeURIComponent(channel)}`;
}

/** The stream that the path of another one names. */
export function streamOfPath(path: string): string {
  const refused = (): Problem =>
    new Problem("invalid_request", `Stream-Forked-From must be the path of a stream: ${PREFIX}<channel>.`);
  if (!path.startsWith(PREFIX)) throw refused();
  try {
    return checkedChannel(decodeURIComponent(path.slice(PREFIX.length)));
  } catch (error) {
    throw error instanceof Problem ? error : refused();
  }
}
