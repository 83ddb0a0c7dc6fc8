/** Where browsers reach an application: `<app>.<domain>`, with the scheme and the port of the service's public address. */
import type { Call } from "./call.ts";

export interface AddressSettings {
  readonly domain: string;
  /** PARLEY_PUBLIC_URL. */
  readonly publicUrl: readonly string[];
  /** Not empty: the control plane has an address of its own, which browsers of others do not reach. */
  readonly adminListen: string;
  readonly port: number;
  readonly tlsCert: string;
}

/** Without a slash at its end. */
export function applicationOrigin(
  appName: string,
  settings: AddressSettings,
  { origin }: Pick<Call, "origin">,
): string {
  const { protocol, port } = publicAddress(settings, origin);
  return `${protocol}//${appName}.${settings.domain}${port === "" ? "" : `:${port}`}`;
}

function publicAddress({ publicUrl: [first], adminListen, port, tlsCert }: AddressSettings, origin: string): URL {
  if (first !== undefined) return new URL(first);
  return new URL(adminListen === "" ? origin : `${tlsCert === "" ? "http" : "https"}://localhost:${port}`);
}
