/** `parley token …`: minting with a secret key, checking with the admin token. */
import { ACTIONS } from "../protocol/actions.ts";
import { backendApi, controlPlane } from "./client.ts";
import type { Answer } from "./command.ts";
import { UsageError } from "./errors.ts";
import type { Given } from "./given.ts";
import { fields, listed, time } from "./output.ts";

export async function mint(given: Given): Promise<Answer> {
  const wanted = {
    peerId: given.needed("peer"),
    channels: given.list("channels"),
    permissions: given.list("permissions", ACTIONS),
    expiresInSec: given.whole("expires"),
    metadata: given.object("metadata"),
    peerMetadata: given.object("peer-metadata"),
  };
  const minted = await backendApi(given).post<Minted>("/tokens", wanted);
  // The token alone on stdout, so that `$(parley token mint …)` is one.
  const notes = [
    `It is good until ${time(minted.expiresAt)}.`,
    `It grants ${listed(minted.permissions)}; channels: ${listed(minted.channels)}.`,
  ];
  return { value: minted, text: `${minted.token}\n`, notes };
}

interface Minted {
  readonly token: string;
  readonly expiresAt: number;
  readonly channels: readonly string[];
  readonly permissions: readonly string[];
}

interface Checked {
  readonly valid: boolean;
  readonly error?: string;
  readonly reason?: string;
  readonly keyId?: string;
  readonly app?: string;
  readonly peerId?: string;
  readonly expiresAt?: number;
  readonly channels?: readonly string[];
  readonly permissions?: readonly string[];
}

export async function check(given: Given): Promise<Answer> {
  const server = controlPlane(given);
  const checked = await server.post<Checked>("/signalling/tokens/check", { token: await tokenOf(given) });
  const text = fields({
    token: checked.valid ? "good" : "refused",
    error: checked.error,
    reason: checked.reason,
    peer: checked.peerId,
    key: checked.keyId,
    app: checked.app,
    channels: listed(checked.channels),
    permissions: listed(checked.permissions),
    expires: time(checked.expiresAt),
  });
  return { value: checked, text, refused: !checked.valid };
}

/** The operand, or standard input. */
export async function tokenOf(given: Given): Promise<string> {
  const word = given.word(0) || "-";
  if (word === "-" && process.stdin.isTTY) throw new UsageError("which token? Give it as TOKEN, or pipe it to stdin");
  const token = word === "-" ? (await Bun.stdin.text()).trim() : word;
  if (token === "") throw new UsageError("stdin held no token");
  return token;
}
