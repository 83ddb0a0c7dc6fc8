/** Limits of connections over HTTP. */
import { KIB } from "../../protocol/limits.ts";

/** Frames of one POST, and its bytes. */
export const POST_FRAMES_MAX = 64;
export const POST_MAX_BYTES = 256 * KIB;
/** Bodies that are read for one connection at the same time: a second one repeats a first that got stuck. */
export const POSTS_AT_ONCE = 2;
/** How often a connection gets a comment line: proxies end responses that are silent for a minute. */
export const HEARTBEAT_MS = 15_000;
/** How long a node waits for the one that holds the connection. */
export const FORWARD_MS = 2000;
/** Bodies of which this node waits for a receipt, 64 MiB at the most. Further POSTs get a 503. */
export const FORWARDS_MAX = 256;
