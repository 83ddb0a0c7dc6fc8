/** Which service a command calls, and which application. */
import { isIP } from "node:net";
import { withoutProxy } from "../../base/proxies.ts";
import { asShellWord } from "../../config/program.ts";
import { DEMO } from "../../node/parts/first-run.ts";
import { DEFAULT_URL } from "../line/defaults.ts";
import { Failure, UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { credentialsEnv, givenAddress } from "./given-address.ts";
import { isThisMachine } from "./loopback.ts";
import { dataPath, type RunningServer, runningServer } from "./running-server.ts";
import { servicesOfUser } from "./user-services.ts";

/** Without a slash at its end. */
export function serverUrl(input: Input): string {
  return givenAddress(input)?.url ?? foundServer(input)?.url ?? defaultUrl(input);
}

/** Where the control plane is. */
export const controlUrl = (input: Input): string =>
  givenAddress(input)?.controlUrl ?? foundServer(input)?.controlUrl ?? defaultUrl(input);

/** The running server of the data folder, if neither a flag, a variable nor a context names an address. */
export function foundServer(input: Input): Extract<RunningServer, { state: "running" }> | undefined {
  if (givenAddress(input)) return undefined;
  const server = runningServer(input);
  return server.state === "running" ? server : undefined;
}

/**
 * For commands outside of the folder of a server. In the folder of one that does not run, what listens at the default address is
 * another installation, which must get neither the credentials of this one nor what was meant for it.
 */
function defaultUrl(input: Input): string {
  const server = runningServer(input);
  if (server.state === "unlisted")
    throw new Failure(
      "unreachable",
      `${server.why}; choose a server with --url or --data (nothing was sent to ${DEFAULT_URL}, the default)`,
    );
  if (server.state !== "stopped") return DEFAULT_URL;
  const running = servicesOfUser(input.env).map(({ url, data }) => `${url} (--data ${asShellWord(data)})`);
  const others = running.length > 0 ? `; you also run ${running.join(", ")}` : "";
  throw new Failure(
    "unreachable",
    `${server.why}; start it with "parley up", or choose a server with --url or PARLEY_URL (nothing was sent to ${DEFAULT_URL}, the default)${others}`,
  );
}

/** What to do if nothing answers at the address of the server. */
export function noServerHint(input: Input): string {
  const server = runningServer(input);
  const folder = dataPath(input);
  const given = givenAddress(input);
  if (given?.context)
    return `the context ${given.context.name} sets this address; "parley use -" goes back to services on this machine`;
  if (given) {
    if (!isThisMachine(serverUrl(input))) return "set the right address with --url or PARLEY_URL";
    const [given, without] = input.isOn("url") ? ["--url", "leave --url out"] : ["PARLEY_URL", "unset PARLEY_URL"];
    return server.state === "running" && server.url !== serverUrl(input)
      ? `${given} is this address, but the server of ${folder} is at ${server.url}: ${without}`
      : 'start one with "parley up"; if it listens on another port: --url http://127.0.0.1:PORT, or export PARLEY_URL';
  }
  if (server.state === "running")
    return `the server of ${folder} (process ${server.pid}) is still running and may be stopping: retry in a moment`;
  const start = 'start one with "parley up"';
  return "why" in server
    ? `${server.why}; ${start}, or set the right address with --url or PARLEY_URL`
    : `${start}; no server is running on the data folder ${folder}: name another with --data, or an address with --url or PARLEY_URL`;
}

/** For a server that refuses a credential: it may be another one than that of the data folder. Begins with "; " if it is not empty. */
export function addressDoubt(input: Input): string {
  const server: RunningServer = givenAddress(input) ? { state: "none" } : runningServer(input);
  return server.state === "unknown" ? `; ${server.why}; set the right address with --url or PARLEY_URL` : "";
}

/**
 * Options of a request to the service. What is sent to that of this machine does not leave it, so that it is called without a proxy. Its
 * certificate is for its public name, and is not checked: its process is known.
 */
export function trustIn(input: Input, url: string): { readonly tls?: { readonly rejectUnauthorized: false } } {
  const server = foundServer(input);
  const { origin, protocol, hostname } = new URL(url.replace(/^ws/, "http"));
  if (!server || ![server.url, server.controlUrl].includes(origin)) return {};
  withoutProxy([hostname]);
  return protocol === "https:" ? { tls: { rejectUnauthorized: false } } : {};
}

export const appNamed = (input: Input): string => input.text("app") ?? (input.env.PARLEY_APP || DEMO);

/**
 * The host of an application is `<app>.<domain>`. If the server is given as an IP address or as localhost, only the Host header
 * names the application, because not every machine resolves `demo.localhost`.
 */
export function applicationHost(input: Input): { base: string; host: string } {
  const url = new URL(serverUrl(input));
  const app = appNamed(input);
  if (!/^[a-z0-9-]+$/.test(app)) throw new UsageError(`${JSON.stringify(app)} is not a valid application name`);
  // The documentation uses the application's own address; treat it like the server's.
  if (url.hostname === `${app}.localhost`) url.hostname = "localhost";
  const bare = url.hostname.replace(/^\[|\]$/g, "");
  // The domain of a note only names the application: nothing is sent to an address that is made from it.
  const found = foundServer(input);
  const isLocal = found !== undefined || bare === "localhost" || isIP(bare) !== 0;
  const domain = credentialsEnv(input).PARLEY_DOMAIN || found?.domain || (isLocal ? "localhost" : bare);
  const host = `${app}.${domain}${url.port ? `:${url.port}` : ""}`;
  const base = isLocal ? url.href : `${url.protocol}//${host}${url.pathname}`;
  return { base: base.replace(/\/+$/, ""), host };
}

/** The address of a room's page, where people enter the meeting. */
export function roomPage(input: Input, roomName: string): string {
  const { base, host } = applicationHost(input);
  return `${new URL(base).protocol}//${host}/${roomName}`;
}
