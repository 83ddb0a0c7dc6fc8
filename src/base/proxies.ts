/** Proxies that the environment names are not for services on this machine: a proxy would see credentials that must not leave it. */

/** `[::1]` is how addresses spell it. */
export const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "::1", "[::1]"];

/** The runtime reads both spellings with each request. */
const VARIABLES = ["NO_PROXY", "no_proxy"] as const;

export function withoutProxy(hosts: readonly string[], env: NodeJS.ProcessEnv = process.env): void {
  const before = env.NO_PROXY || env.no_proxy || "";
  const listed = before.split(",").map((host) => host.trim());
  const missing = hosts.filter((host) => !listed.includes(host));
  if (missing.length === 0 || listed.includes("*")) return;
  for (const name of VARIABLES) env[name] = [before, ...missing].filter((part) => part !== "").join(",");
}
