/** Which service a command calls, and which application. */
import { isIP } from "node:net";
import { DEMO } from "../../node/parts/first-run.ts";
import { DEFAULT_URL } from "../line/defaults.ts";
import { UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Without a slash at its end. ws: and wss: are accepted too, because clients are given those. */
export function serverUrl({ flags, env }: Input): string {
  const [given, from] = flags.has("url")
    ? [flags.get("url") ?? "", "--url"]
    : [env.PARLEY_URL || DEFAULT_URL, "PARLEY_URL"];
  const text = given.replace(/^ws(?=s?:)/i, "http");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    !url ||
    !["http:", "https:"].includes(url.protocol) ||
    url.username !== "" ||
    url.search !== "" ||
    url.hash !== ""
  )
    throw new UsageError(`${from} must be an address such as ${DEFAULT_URL}`);
  return url.href.replace(/\/+$/, "");
}

/** What to do if nothing answers at an address. A port that differs from the default cannot be guessed. */
export const noServerHint = (origin: string): string =>
  isThisMachine(origin)
    ? 'start one with "parley up"; if it listens on another port: --url http://127.0.0.1:PORT, or export PARLEY_URL'
    : "name the right address with --url or PARLEY_URL";

/** Whether an address leads to this machine, whatever the network is. */
export const isThisMachine = (url: string): boolean => LOOPBACK.test(new URL(url).hostname);

export const appNamed = (input: Input): string => input.text("app") ?? (input.env.PARLEY_APP || DEMO);

/**
 * The host of an application is `<app>.<domain>`. If the server is given as an IP address or as localhost, only the Host header
 * names the application, because not every machine resolves `demo.localhost`.
 */
export function applicationHost(input: Input): { base: string; host: string } {
  const url = new URL(serverUrl(input));
  const app = appNamed(input);
  if (!/^[a-z0-9-]+$/.test(app)) throw new UsageError(`${JSON.stringify(app)} is not the name of an application`);
  // The documentation uses the application's own address; treat it like the server's.
  if (url.hostname === `${app}.localhost`) url.hostname = "localhost";
  const bare = url.hostname.replace(/^\[|\]$/g, "");
  const isLocal = bare === "localhost" || isIP(bare) !== 0;
  const domain = input.env.PARLEY_DOMAIN || (isLocal ? "localhost" : bare);
  const host = `${app}.${domain}${url.port ? `:${url.port}` : ""}`;
  const base = isLocal ? url.href : `${url.protocol}//${host}${url.pathname}`;
  return { base: base.replace(/\/+$/, ""), host };
}

/** The address of a room's page, where people enter the meeting. */
export function roomPage(input: Input, roomName: string): string {
  const { base, host } = applicationHost(input);
  return `${new URL(base).protocol}//${host}/${roomName}`;
}
