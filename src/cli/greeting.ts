/** What a start tells its operator: which version, which data, which addresses to open. */
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { resolve } from "node:path";
import { VERSION } from "../version.ts";

export interface Started {
  /** Its address as seen from this machine. */
  readonly url: string;
  readonly host: string;
  /** No setting named the host. */
  readonly isHostDefault: boolean;
  readonly dataFolder: string;
}

/** Fields of the line "parley is ready". */
export interface Facts {
  readonly version: string;
  readonly data: string;
  readonly url: string;
  readonly host: string;
}

/** More would hide the ones that matter: machines with containers have dozens. */
const ADDRESSES_MAX = 4;
const EVERYWHERE = ["0.0.0.0", "::"];

export const factsOf = ({ url, host, dataFolder }: Started): Facts => ({
  version: VERSION,
  data: resolve(dataFolder),
  url,
  host,
});

/** To open in a browser, as this machine calls itself first. */
function addressesToOpen({ url, host }: Started): string[] {
  // A certificate names the service, not the numbers of this machine.
  if (!EVERYWHERE.includes(host) || url.startsWith("https")) return [`${url}/`];
  const { port } = new URL(url);
  const others = interfaces()
    .filter(({ internal, family }) => !internal && family === "IPv4")
    .map(({ address }) => `http://${address}:${port}/`);
  return [`${url}/`, ...others].slice(0, ADDRESSES_MAX);
}

/** A sandbox may forbid the question: it takes a netlink socket. */
function interfaces(): NetworkInterfaceInfo[] {
  try {
    return Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  } catch {
    return [];
  }
}

/** undefined: the operator has chosen. */
export const howToOpen = ({ host, isHostDefault }: Started): string | undefined =>
  isHostDefault && !EVERYWHERE.includes(host)
    ? "only this machine can connect, because the first start made a demo; --host 0.0.0.0 or PARLEY_HOST=0.0.0.0 lets others in"
    : undefined;

/** For a terminal. */
export function greeting(started: Started): string {
  const { version, data } = factsOf(started);
  const lines = [
    `Parley ${version} is ready`,
    `  open  ${addressesToOpen(started).join("  ")}`,
    `  docs  ${started.url}/docs`,
    `  data  ${data}`,
  ];
  const hint = howToOpen(started);
  if (hint) lines.push(`  note  ${hint}`);
  return `\n${lines.join("\n")}\n`;
}
