/** How commands that talk identify themselves: with a secret key, a publishable key or a connect token. */
import { UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { appNamed } from "./address.ts";
import { type Credential, hasPlaceholder, keyCredential, refusePlaceholder } from "./credentials.ts";
import { foundKey } from "./found-credentials.ts";
import { credentialsEnv } from "./given-address.ts";

export type TalkCredential =
  | { readonly kind: "secret"; readonly credential: Credential }
  /** `from` names it in messages. */
  | { readonly kind: "publishable"; readonly key: string; readonly from: string }
  | { readonly kind: "token"; readonly token: string; readonly from: string };

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const PUBLISHABLE = /^pk_live_\w+$/;

/** Flags come before the environment, and both before the data folder of this machine. */
export async function talkCredential(input: Input): Promise<TalkCredential> {
  const [first, second] = ["token", "key", "app"].filter((name) => input.isOn(name));
  if (second !== undefined) throw new UsageError(`--${first} and --${second} cannot be used together`);
  const token = input.text("token");
  if (token !== undefined) return tokenCredential(token, "--token");
  const key = input.text("key");
  if (key !== undefined) return keyOfEitherType(key, "--key");
  const { PARLEY_TOKEN = "", PARLEY_KEY = "" } = input.isOn("app") ? {} : credentialsEnv(input);
  if (PARLEY_TOKEN.trim()) return tokenCredential(PARLEY_TOKEN.trim(), "PARLEY_TOKEN");
  if (PARLEY_KEY.trim()) return keyOfEitherType(PARLEY_KEY.trim(), "PARLEY_KEY");
  return { kind: "secret", credential: await foundKey(input) };
}

/** The application whose key a command of the REST API finds; undefined if a key is given, which can be that of any. */
export const restApp = (input: Input): string | undefined =>
  input.isOn("key") || (credentialsEnv(input).PARLEY_KEY?.trim() && !input.isOn("app")) ? undefined : appNamed(input);

/** For the REST API, which takes only secret keys. */
export async function restCredential(input: Input): Promise<Credential> {
  const { PARLEY_TOKEN: _, ...env } = input.env;
  const found = await talkCredential(input.withEnv(env));
  if (found.kind === "secret") return found.credential;
  throw new UsageError(
    `${found.from} is a ${found.kind} key, and this command needs a secret key: sk_id_…:sk_secret_…`,
  );
}

function tokenCredential(token: string, from: string): TalkCredential {
  if (hasPlaceholder(token))
    throw new UsageError(`${from} contains a placeholder: replace it with a token from "parley token mint"`);
  if (!TOKEN.test(token)) throw new UsageError(`${from} must be a connect token from "parley token mint"`);
  return { kind: "token", token, from };
}

function keyOfEitherType(key: string, from: string): TalkCredential {
  refusePlaceholder(key, from);
  if (PUBLISHABLE.test(key)) return { kind: "publishable", key, from };
  if (!key.startsWith("sk_id_"))
    throw new UsageError(`${from} must be a secret key, sk_id_…:sk_secret_…, or a publishable key, pk_live_…`);
  return { kind: "secret", credential: keyCredential(key, from) };
}
