/** The credentials of commands. The admin token is never an argument, because every user of the machine can read those. */
import { readFileSync } from "node:fs";
import { UsageError } from "./errors.ts";
import type { Input } from "./input.ts";

export interface Credential {
  readonly value: string;
  /** The message for a credential that the server refuses. */
  readonly refused: string;
}

const HEADER_SAFE = /^[\x21-\x7e]+$/;

export function adminToken(input: Input): Credential {
  const file = input.text("admin-token-file");
  const value = file === undefined ? input.env.PARLEY_ADMIN_TOKEN?.trim() : readSecret("admin-token-file", file);
  if (!value)
    throw new UsageError(
      file === undefined
        ? 'the admin token is needed: set PARLEY_ADMIN_TOKEN, or name a file that contains it with --admin-token-file (the first start printed it; "parley admin reset-token" makes a new one for a stopped server)'
        : `--admin-token-file ${file} is empty`,
    );
  const from = file === undefined ? "PARLEY_ADMIN_TOKEN" : `--admin-token-file ${file}`;
  if (!HEADER_SAFE.test(value)) throw new UsageError(`${from} must contain the admin token and nothing else`);
  const refused = value.startsWith("op_")
    ? `the operator's token of ${from} is revoked, or is not this server's`
    : `the admin token of ${from} is not this server's`;
  return { value, refused };
}

export function secretKey(input: Input): Credential {
  const flag = input.text("key");
  const value = flag ?? input.env.PARLEY_KEY?.trim();
  if (!value) throw new UsageError("a secret key is needed: set PARLEY_KEY=SK_ID:SK_SECRET, or use --key");
  return keyCredential(value, flag === undefined ? "PARLEY_KEY" : "--key");
}

/** For commands that run for a long time, during which their arguments are visible in the list of processes. */
export function keyFromFile(input: Input): Credential {
  const file = input.text("secret-key-file");
  const value = file === undefined ? input.env.PARLEY_KEY?.trim() : readSecret("secret-key-file", file);
  if (!value)
    throw new UsageError(
      file === undefined
        ? "a secret key is needed: set PARLEY_KEY=SK_ID:SK_SECRET, or name a file that contains it with --secret-key-file"
        : `--secret-key-file ${file} is empty`,
    );
  return keyCredential(value, file === undefined ? "PARLEY_KEY" : `--secret-key-file ${file}`);
}

export function keyCredential(value: string, from: string): Credential {
  if (!/^sk_id_[^:]+:[^:]+$/.test(value) || !HEADER_SAFE.test(value))
    throw new UsageError(`${from} must be a secret key's id and its secret, separated by a colon: sk_id_…:sk_secret_…`);
  return { value, refused: `the secret key of ${from} was refused: it is unknown or revoked, or its secret is wrong` };
}

/** The secret key of an application, for its own host. */
export function appSecret(input: Input): Credential {
  const file = input.text("app-secret-file");
  const from = file === undefined ? "PARLEY_APP_SECRET" : `--app-secret-file ${file}`;
  const value = file === undefined ? input.env.PARLEY_APP_SECRET?.trim() : readSecret("app-secret-file", file);
  if (!value)
    throw new UsageError(
      file === undefined
        ? 'the application\'s secret key is needed: set PARLEY_APP_SECRET, or name a file that contains it with --app-secret-file (the first start printed that of the demo as "app secret"; "parley apps secret APP" prints any)'
        : `${from} is empty`,
    );
  if (!HEADER_SAFE.test(value)) throw new UsageError(`${from} must contain the secret key and nothing else`);
  return { value, refused: `there is no such application, or the secret key of ${from} belongs to another one` };
}

function readSecret(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`--${flag} ${file} cannot be read: ${(error as Error).message}`);
  }
}
