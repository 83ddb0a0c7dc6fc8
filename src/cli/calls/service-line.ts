/** Says on a terminal which service a command calls, before the first request. Scripts read stderr too, so they get no such line. */
import { resolve } from "node:path";
import { hasColours, painter } from "../../base/colours.ts";
import type { Input } from "../line/input.ts";
import { escaped } from "../terminal/output.ts";
import { foundServer, serverUrl } from "./address.ts";
import { givenAddress } from "./given-address.ts";
import { dataPath } from "./running-server.ts";

/** Credentials for another service than that of a context. */
const VARIABLES = ["PARLEY_OPERATOR_TOKEN", "PARLEY_ADMIN_TOKEN", "PARLEY_KEY", "PARLEY_TOKEN", "PARLEY_APP_SECRET"];

/** One command makes several requests, some of them to find its credential. */
let said = "";

export function sayService(input: Input): void {
  if (!process.stderr.isTTY || input.isOn("quiet") || input.isOn("json")) return;
  const line = `Using ${serviceText(input)}`;
  if (line === said) return;
  said = line;
  const paint = painter(hasColours(process.stderr, input.env));
  process.stderr.write(`${paint("dim", escaped(line))}\n`);
}

/** The address, and where it is from: `http://127.0.0.1:9000 (data folder /srv/chat/data)`. */
function serviceText(input: Input): string {
  const given = givenAddress(input);
  if (!given)
    return foundServer(input)
      ? `${serverUrl(input)} (data folder ${resolve(dataPath(input))})`
      : `${serverUrl(input)} (the default address)`;
  if (!given.context) return `${given.url} (${given.by})`;
  const unused = VARIABLES.filter((name) => input.env[name]);
  const note = unused.length > 0 ? `; it has its own credentials, so ${unused.join(" and ")} not used` : "";
  return `${given.url} (context ${given.context.name}${note})`;
}
