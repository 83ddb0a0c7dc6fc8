/** What a server prints when it has started: version, data folder and addresses. */
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { VERSION } from "../../../version.ts";

export interface Started {
  /** The address of the server, as seen from this machine. */
  readonly url: string;
  readonly host: string;
  /** The host was not set. */
  readonly isHostDefault: boolean;
  readonly dataFolder: string;
  /** Commands find its address in the data folder. */
  readonly isNoted: boolean;
  /** Absent: it is switched off. */
  readonly dashboardUrl?: string;
}

/** Fields of the log line "parley is ready". */
export interface ReadyFields {
  readonly version: string;
  readonly data: string;
  readonly url: string;
  readonly host: string;
  readonly dashboard?: string;
}

/** Machines with containers have dozens of addresses, which would hide the useful ones. */
const ADDRESSES_MAX = 4;
const ALL_ADDRESSES = ["0.0.0.0", "::"];

export const readyFields = ({ url, host, dataFolder, dashboardUrl }: Started): ReadyFields => ({
  version: VERSION,
  data: dataFolder,
  url,
  host,
  ...(dashboardUrl !== undefined && { dashboard: dashboardUrl }),
});

/** Addresses to open in a browser; the one for this machine comes first. */
function addressesToOpen({ url, host }: Started): string[] {
  // A certificate is for the name of the service, not for the IP addresses of this machine.
  if (!ALL_ADDRESSES.includes(host) || url.startsWith("https")) return [`${url}/`];
  const { port } = new URL(url);
  const others = interfaces()
    .filter(({ internal, family }) => !internal && family === "IPv4")
    .map(({ address }) => `http://${address}:${port}/`);
  return [`${url}/`, ...others].slice(0, ADDRESSES_MAX);
}

/** Listing interfaces needs a netlink socket, which a sandbox may forbid. */
function interfaces(): NetworkInterfaceInfo[] {
  try {
    return Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  } catch {
    return [];
  }
}

/** Returns undefined if the operator has set the host. */
export const howToOpen = ({ host, isHostDefault }: Started): string | undefined =>
  isHostDefault && !ALL_ADDRESSES.includes(host)
    ? "only this machine can connect, because the first start made a demo; --host 0.0.0.0 or PARLEY_HOST=0.0.0.0 lets other machines connect"
    : undefined;

/** The variable that lets commands find a server whose address is not noted; undefined if they find it without. */
export const commandsVariable = ({ url, isNoted }: Started): string | undefined =>
  isNoted ? undefined : `export PARLEY_URL=${url}`;

/** The text for a terminal. */
export function greeting(started: Started): string {
  const { version, data } = readyFields(started);
  const lines = [
    `Parley ${version} is ready`,
    `  open       ${addressesToOpen(started).join("  ")}`,
    ...(started.dashboardUrl === undefined ? [] : [`  dashboard  ${started.dashboardUrl}`]),
    `  docs       ${started.url}/docs`,
    `  data       ${data}`,
  ];
  const variable = commandsVariable(started);
  if (variable) lines.push(`  commands   need its address in other terminals: ${variable}`);
  const hint = howToOpen(started);
  if (hint) lines.push(`  note       ${hint}`);
  return `\n${lines.join("\n")}\n`;
}
