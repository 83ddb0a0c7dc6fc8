/** `parley use`, `contexts` and `logout`. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readWithOwner } from "../../../base/private-file.ts";
import {
  contextFolder,
  contextName,
  contextNamed,
  contexts,
  currentName,
  removeContext,
  useContext,
} from "../../calls/contexts.ts";
import { servicesOfUser } from "../../calls/user-services.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Env, Input } from "../../line/input.ts";
import { table } from "../../terminal/output.ts";

const THIS_MACHINE = "-";
const KEY_MAX_BYTES = 10_000;

export async function use({ operands, env }: Input): Promise<CommandResult> {
  const [name = ""] = operands;
  const context = name === THIS_MACHINE ? undefined : contextNamed(env, name, '"parley use"');
  useContext(env, context?.name);
  return {
    value: { current: context?.name ?? null, ...(context && { url: context.url }) },
    text: context ? `using ${context.name}, ${context.url}\n` : "using services of this machine\n",
    notes: overriding(env),
  };
}

/** What comes before the choice of `parley use`, and may have been forgotten. */
export const overriding = (env: Env): string[] =>
  ["PARLEY_URL", "PARLEY_CONTEXT", "PARLEY_DATA"]
    .filter((name) => env[name])
    .map((name) => `${name} is set here and comes first: unset it to use the context.`);

export async function list({ env }: Input): Promise<CommandResult> {
  const current = currentName(env);
  const all = contexts(env).map(({ name, url, controlUrl, token }) => ({
    name,
    url,
    controlUrl,
    token: token.startsWith("op_") ? "operator" : "admin",
    current: name === current,
  }));
  const rows = all.map((one) => [one.current ? "*" : " ", one.name, one.url, one.token]);
  return {
    value: all,
    text: all.length === 0 ? "" : table(["", "NAME", "URL", "TOKEN"], rows),
    notes: [
      ...(all.length === 0 ? ['There are no contexts; "parley login URL" makes one.'] : []),
      ...servicesOfUser(env).map(({ url, data }) => `You run ${url} on this machine (data folder ${data}).`),
      ...(current === undefined ? [] : overriding(env)),
    ],
  };
}

export async function logout({ operands, env }: Input): Promise<CommandResult> {
  const name = contextName(operands[0] ?? "");
  // One that cannot be read is forgotten like any other.
  const url = contexts(env).find((one) => one.name === name)?.url ?? unreadable(env, name);
  const keys = keptKeys(contextFolder(env, name));
  removeContext(env, name);
  return {
    value: { name, url, keysLeft: keys },
    text: `forgot ${name}, ${url}\n`,
    notes: [
      ...keys.map(
        (key) => `The key ${key} stays valid there: revoke it with "parley keys revoke ${key} --url ${url}".`,
      ),
      'The token stays valid, too; an admin ends an operator\'s with "parley operators revoke".',
    ],
  };
}

/** Throws if there is none of this name. */
function unreadable(env: Env, name: string): string {
  if (!existsSync(contextFolder(env, name))) contextNamed(env, name, '"parley logout"');
  return "which could not be read";
}

/** Ids of the secret keys that commands have made for applications of the service. */
const keptKeys = (folder: string): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".key"))
    .flatMap((file) => readWithOwner(join(folder, file), KEY_MAX_BYTES)?.text.split(":")[0] ?? []);
