/**
 * The address that a command is given: by a flag, by a variable, or by a context. A context is an address and a credential, so that nothing
 * that is exported for another service is sent there.
 */
import { DEFAULT_URL } from "../line/defaults.ts";
import { UsageError } from "../line/errors.ts";
import type { Env, Input } from "../line/input.ts";
import { type Context, contextNamed, currentName } from "./contexts.ts";

export interface GivenAddress {
  readonly url: string;
  readonly controlUrl: string;
  /** How it was given. */
  readonly by: "--url" | "PARLEY_URL" | "context";
  readonly context?: Context;
}

/** undefined: a service on this machine is meant. */
export function givenAddress(input: Input): GivenAddress | undefined {
  const { flags, env } = input;
  if (flags.has("url") && flags.has("context"))
    throw new UsageError("--url and --context choose two different services: leave one out");
  if (flags.has("context") && flags.has("data"))
    throw new UsageError("--context and --data choose two different services: leave one out");
  if (flags.has("url")) return asGiven(addressIn(flags.get("url") ?? "", "--url"), "--url");
  if (flags.has("context")) return ofContext(env, flags.get("context") ?? "", "--context");
  if (env.PARLEY_URL && env.PARLEY_CONTEXT)
    throw new UsageError("PARLEY_URL and PARLEY_CONTEXT choose two different services: unset one");
  if (env.PARLEY_URL) return asGiven(addressIn(env.PARLEY_URL, "PARLEY_URL"), "PARLEY_URL");
  if (flags.has("data")) return undefined;
  if (env.PARLEY_CONTEXT) return ofContext(env, env.PARLEY_CONTEXT, "PARLEY_CONTEXT");
  const current = env.PARLEY_DATA ? undefined : currentName(env);
  return current === undefined ? undefined : ofContext(env, current, '"parley use"');
}

const asGiven = (url: string, by: GivenAddress["by"]): GivenAddress => ({ url, controlUrl: url, by });

/** `-` is a service of this machine, as with `parley use -`. */
function ofContext(env: Env, name: string, from: string): GivenAddress | undefined {
  if (name === "-") return undefined;
  const context = contextNamed(env, name, from);
  return { url: context.url, controlUrl: context.controlUrl, by: "context", context };
}

/** The variables that a credential may come from: none for a context, which has its own. */
export const credentialsEnv = (input: Input): Env => (givenAddress(input)?.context ? {} : input.env);

/** Without a slash at its end. ws: and wss: are accepted too, because clients are given those. */
export function addressIn(given: string, from: string): string {
  const text = given.replace(/^ws(?=s?:)/i, "http");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url !== undefined && ["http:", "https:"].includes(url.protocol);
  if (!isHttp || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError(`${from} must be an address such as ${DEFAULT_URL}`);
  return url.href.replace(/\/+$/, "");
}
