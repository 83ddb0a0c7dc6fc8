/** Network namespaces of Linux: each is a network with addresses and ports of its own. */
import { run } from "../deploy/support/program.ts";

/** Puts a command into a namespace: `ip netns exec` becomes the command, so that signals reach it. */
export const inNamespace = (name: string, ...command: string[]): string[] => ["ip", "netns", "exec", name, ...command];

/** Why there can be no namespaces here, for the reader of a skipped test; undefined if there can. */
export async function whyNoNamespaces(): Promise<string | undefined> {
  if (process.platform !== "linux") return "network namespaces are a feature of Linux";
  if (!Bun.which("ip")) return "ip is missing: apt-get install -y iproute2";
  const probe = `parley-${process.pid}-probe`;
  const { code, output } = await run(["ip", "netns", "add", probe]);
  if (code !== 0) return `network namespaces are not permitted here (they need root): ${output.trim()}`;
  await run(["ip", "netns", "delete", probe]);
  return undefined;
}

/** A namespace in which programs reach each other by loopback. */
export async function addNamespace(name: string): Promise<void> {
  await must("ip", "netns", "add", name);
  await must(...inNamespace(name, "ip", "link", "set", "lo", "up"));
}

/** What runs in it must have ended. */
export async function deleteNamespace(name: string): Promise<void> {
  await run(["ip", "netns", "delete", name]);
}

/** Runs a command that must succeed. */
export async function must(...command: string[]): Promise<void> {
  const { code, output } = await run(command);
  if (code !== 0) throw new Error(`${command.join(" ")}: ${output}`);
}
