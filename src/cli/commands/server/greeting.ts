/** What a server prints when it has started: version, data folder and addresses. */
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { painter } from "../../../base/colours.ts";
import { asCalled } from "../../../config/program.ts";
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
  /** The context that commands of this user call instead. */
  readonly contextInUse?: string | undefined;
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
    ? "only this machine can connect, because the first start created a demo; to let other machines connect, use --host 0.0.0.0 or PARLEY_HOST=0.0.0.0"
    : undefined;

/** The variable that lets commands find a server whose address is not noted; undefined if they find it without. */
export const commandsVariable = ({ url, isNoted }: Started): string | undefined =>
  isNoted ? undefined : `export PARLEY_URL=${url}`;

/** Commands that show messages arriving, in two other terminals. */
const TO_TRY = ["parley listen chat/1", "parley publish chat/1 hello"];

/** The text for a terminal. */
export function greeting(started: Started, isColoured = false): string {
  const { version, data } = readyFields(started);
  const paint = painter(isColoured);
  const line = (name: string, text: string): string => `  ${paint("dim", name.padEnd(10))} ${text}`;
  const address = (url: string): string => paint("cyan", url);
  const lines = [
    paint("bold", `Parley ${version} is ready`),
    line("open", addressesToOpen(started).map(address).join("  ")),
    ...(started.dashboardUrl === undefined ? [] : [line("dashboard", address(started.dashboardUrl))]),
    line("docs", address(`${started.url}/docs`)),
    line("data", data),
    ...TO_TRY.map((command, at) => line(at === 0 ? "try" : "", asCalled(command))),
  ];
  const variable = commandsVariable(started);
  if (variable) lines.push(line("commands", `need its address in other terminals: ${variable}`));
  const { contextInUse } = started;
  if (contextInUse !== undefined)
    lines.push(line("commands", `use the context ${contextInUse}: ${asCalled("parley use -")} points them here`));
  const hint = howToOpen(started);
  if (hint) lines.push(line("note", hint));
  return `\n${lines.join("\n")}\n`;
}
