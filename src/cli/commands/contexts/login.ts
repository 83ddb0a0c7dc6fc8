/** `parley login`: tries a token at a service, and keeps both as a context. */
import { controlPlane } from "../../calls/client.ts";
import { type Context, contextName, contexts, keepContext, useContext } from "../../calls/contexts.ts";
import { tokenCredential } from "../../calls/credentials.ts";
import { addressIn } from "../../calls/given-address.ts";
import { isThisMachine } from "../../calls/loopback.ts";
import type { CommandResult } from "../../line/command.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import { Input } from "../../line/input.ts";
import { fields } from "../../terminal/output.ts";
import { askSecret } from "../../terminal/secret.ts";
import { overriding } from "./contexts.ts";

/** A token has less than a hundred characters. */
const TOKEN_MAX_BYTES = 10_000;

export async function login(input: Input): Promise<CommandResult> {
  const url = secureAddress(input, input.operand(0), "URL");
  const control = input.text("control-url");
  const controlUrl = control === undefined ? url : secureAddress(input, control, "--control-url");
  const name = contextName(input.text("name") ?? nameFor(url));
  const other = contexts(input.env).find((one) => one.name === name && one.url !== url);
  if (other)
    throw new UsageError(
      `the context ${name} is ${other.url}: choose another name with --name, or remove it with "parley logout ${name}"`,
    );
  const context: Context = { name, url, controlUrl, token: await tokenFor(input, controlUrl) };
  await tryOut(context);
  keepContext(input.env, context);
  useContext(input.env, name);
  return {
    value: { name, url, controlUrl, current: true },
    text: fields({ context: name, url, ...(controlUrl !== url && { "control plane": controlUrl }) }),
    notes: [
      `Commands use ${name} from now on; "parley use -" goes back to services on this machine.`,
      ...overriding(input.env),
    ],
  };
}

/** https, unless what is sent stays on this machine or the caller accepts that it can be read. */
function secureAddress(input: Input, text: string, from: string): string {
  const url = addressIn(text, from);
  if (url.startsWith("https:") || isThisMachine(url) || input.isOn("insecure")) return url;
  throw new UsageError(
    `${from} begins with http, so anyone on the network could read the token: use https, or accept the risk with --insecure`,
  );
}

/** parley.example.com, or 127.0.0.1-9000 with a port. */
function nameFor(url: string): string {
  const { hostname, port } = new URL(url);
  const host = hostname.replaceAll(/[^A-Za-z0-9.]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return `${host}${port === "" ? "" : `-${port}`}`.slice(-64).replace(/^[-.]+/, "");
}

const tokenFor = (input: Input, controlUrl: string): Promise<string> =>
  input.isOn("token-stdin")
    ? tokenFromInput()
    : askSecret(
        `Admin token, or an operator's, of ${controlUrl}`,
        "pipe the token to this command, with --token-stdin",
      );

async function tokenFromInput(): Promise<string> {
  const bytes = await Bun.stdin.slice(0, TOKEN_MAX_BYTES).text();
  if (bytes.trim() === "") throw new UsageError("--token-stdin: stdin had no token");
  return bytes.trim();
}

/** A token that does not work must not replace one that does. */
async function tryOut({ controlUrl, token }: Context): Promise<void> {
  const flags = new Map([
    ["url", controlUrl],
    ["quiet", "on"],
  ]);
  try {
    await controlPlane(new Input([], flags, {}), tokenCredential(token, "this login")).get("/node");
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(error.code, `${error.message.replace(/; set the right address.*/, "")}; nothing was saved`);
  }
}
