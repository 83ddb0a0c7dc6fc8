/** What a POST of a connection over HTTP brings, and what becomes of it. */
import { Problem } from "../../protocol/codes.ts";
import { FRAME_MAX_BYTES } from "../../protocol/limits.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import { POST_FRAMES_MAX } from "./limits.ts";

export interface EventPost {
  /** From 1, and one more with each POST. */
  readonly n: number;
  /** As the browser says. */
  readonly origin: string | null;
  /** The browser says that a page of this service itself has sent it. */
  readonly isSameOrigin: boolean;
  /** One frame on each line. */
  readonly body: string;
  /** The client ends the connection after these frames. */
  readonly isBye: boolean;
}

/**
 * `gone`: there is no such connection. `gap`: the number is not the next one. `origin`: a page of another origin has sent it. `busy`: nothing was
 * taken, as far as is known; the same POST may be sent again.
 */
export type PostResult =
  | { readonly kind: "taken" | "gone" | "origin" | "busy" }
  | { readonly kind: "gap"; readonly expected: number };

/** The frames of a body, or a Problem: it is taken whole or not at all. */
export function framesOf(body: string, isBye: boolean): string[] {
  const frames = body.split("\n").map(withoutReturn);
  if (frames.at(-1) === "") frames.pop();
  if (frames.length > POST_FRAMES_MAX)
    throw new Problem("invalid_request", `The body has over ${POST_FRAMES_MAX} frames.`);
  if (frames.length === 0 && !isBye)
    throw new Problem("invalid_request", "The body has no frame. Send one on each line.");
  if (frames.includes(""))
    throw new Problem("invalid_request", "A line of the body is empty. Send one frame on each line.");
  // On a WebSocket such a frame closes the connection. Here it can be refused before anything is taken.
  if (frames.some(isTooLong)) throw new Problem("body_too_large", `A frame is over ${FRAME_MAX_BYTES} bytes.`);
  return frames;
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

const isTooLong = (frame: string): boolean => frame.length * 3 > FRAME_MAX_BYTES && utf8Bytes(frame) > FRAME_MAX_BYTES;
