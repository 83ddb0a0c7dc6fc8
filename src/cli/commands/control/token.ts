/** `parley token …`: mints tokens with a secret key, and checks them with the admin token. */
import { TOKEN_MAX_SECONDS } from "../../../access/limits.ts";
import { ACTIONS } from "../../../protocol/actions.ts";
import { backendApi, controlPlane } from "../../calls/client.ts";
import { restCredential } from "../../calls/talk-credential.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { fields, listed, time } from "../../terminal/output.ts";
import { nameOfApp } from "./app-name.ts";

export async function mint(input: Input): Promise<CommandResult> {
  const wanted = {
    peerId: input.required("peer"),
    channels: input.list("channels"),
    permissions: input.list("permissions", ACTIONS),
    expiresInSec: lifetimeOf(input),
    metadata: input.object("metadata"),
    peerMetadata: input.object("peer-metadata"),
  };
  const minted = await backendApi(input, await restCredential(input)).post<Minted>("/tokens", wanted);
  // Only the token goes to stdout, for `$(parley token mint …)`.
  const notes = [
    `It is valid until ${time(minted.expiresAt)}.`,
    `It grants ${listed(minted.permissions)}; channels: ${listed(minted.channels)}.`,
  ];
  return { value: minted, text: `${minted.token}\n`, notes };
}

/** Checked here too: the service names the field of its API, and not the flag. */
function lifetimeOf(input: Input): number | undefined {
  const seconds = input.seconds("expires");
  if (seconds !== undefined && (seconds < 1 || seconds > TOKEN_MAX_SECONDS))
    throw new UsageError(
      `--expires is ${JSON.stringify(input.text("expires"))}; a token is valid for 1 to ${TOKEN_MAX_SECONDS} seconds (${TOKEN_MAX_SECONDS / 3600}h)`,
    );
  return seconds;
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

export async function check(input: Input): Promise<CommandResult> {
  const server = controlPlane(input);
  const checked = await server.post<Checked>("/signalling/tokens/check", { token: await tokenOf(input) });
  const app = checked.app === undefined || input.isOn("json") ? checked.app : await nameOfApp(server, checked.app);
  const text = fields({
    token: checked.valid ? "good" : "refused",
    error: checked.error,
    reason: checked.reason,
    peer: checked.peerId,
    key: checked.keyId,
    app,
    channels: listed(checked.channels),
    permissions: listed(checked.permissions),
    expires: time(checked.expiresAt),
  });
  return { value: checked, text, refused: !checked.valid };
}

/** The token from the operand, or from stdin. */
export async function tokenOf(input: Input): Promise<string> {
  const operand = input.operand(0) || "-";
  if (operand === "-" && process.stdin.isTTY)
    throw new UsageError("no token given: pass it as TOKEN, or pipe it to stdin");
  const token = operand === "-" ? (await Bun.stdin.text()).trim() : operand;
  if (token === "") throw new UsageError("stdin had no token");
  return token;
}
