/**
 * The checks of a connect and of a frame (protocol, sections 1 and 2). Each list is in the order in which the code makes its checks, and
 * a refusal names the check that failed: so the checks before it have passed, and those after it were not made.
 */

/** Made by the gateway and by `admit` before it looks at the credential. */
export const ATTEMPT_CHECKS = ["drain", "connect rate", "credential"] as const;

/** A connect with a publishable key. */
export const KEY_CHECKS = ["key", "origin"] as const;

/** A connect with a token. `signing secret`: it can be decrypted (row 13 of the protocol), and without it nothing else can be checked. */
export const TOKEN_CHECKS = [
  "token",
  "token key",
  "signing secret",
  "signature",
  "payload",
  "expiry",
  "claims",
  "scope",
] as const;

/** Made last: whether the peer is blocked, for tokens only, and whether the plan has room for the connection. */
export const BLOCK_CHECK = "block";
export const CAPACITY_CHECK = "capacity";

/** A frame about a channel. The quota is that of messages, published or sent. */
export const FRAME_CHECKS = ["channel name", "reserved name", "action", "channel", "message quota"] as const;

export type TokenCheck = (typeof TOKEN_CHECKS)[number];
export type AdmitCheck = "credential" | (typeof KEY_CHECKS)[number] | TokenCheck | typeof BLOCK_CHECK;
export type FrameCheck = (typeof FRAME_CHECKS)[number];
export type Check = (typeof ATTEMPT_CHECKS)[number] | AdmitCheck | typeof CAPACITY_CHECK | FrameCheck;
