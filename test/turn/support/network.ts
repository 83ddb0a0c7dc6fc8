/**
 * Two networks without a way from one to the other, as behind the firewalls of two companies: both reach only the machine between them, which
 * does not forward. Each is a network namespace of Linux.
 */
import { run } from "../../deploy/support/program.ts";

/** The machine between the two, as both networks reach it. */
export const MIDDLE_ADDRESS = "198.18.1.1";
/** A host in the right network. */
export const RIGHT_ADDRESS = "198.18.2.2";

export type Place = "left" | "middle" | "right";
const PLACES: readonly Place[] = ["left", "middle", "right"];

const nameOf = (place: Place): string => `parley-turn-${process.pid}-${place}`;

/** Puts a command into a place: `ip netns exec` becomes the command, so that signals reach it. */
export const inPlace = (place: Place, ...command: string[]): string[] => [
  "ip",
  "netns",
  "exec",
  nameOf(place),
  ...command,
];

/** Why there can be no namespaces here, for the reader of a skipped test; undefined if there can. */
export async function whyNoNetworks(): Promise<string | undefined> {
  if (process.platform !== "linux") return "network namespaces are a feature of Linux";
  if (!Bun.which("ip")) return "ip is missing: apt-get install -y iproute2";
  const probe = `parley-turn-${process.pid}-probe`;
  const { code, output } = await run(["ip", "netns", "add", probe]);
  if (code !== 0) return `network namespaces are not permitted here (they need root): ${output.trim()}`;
  await run(["ip", "netns", "delete", probe]);
  return undefined;
}

export async function makeNetworks(): Promise<void> {
  for (const place of PLACES) {
    await must("ip", "netns", "add", nameOf(place));
    await must(...inPlace(place, "ip", "link", "set", "lo", "up"));
  }
  await must(...inPlace("middle", "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward"));
  await link("left", 1);
  await link("right", 2);
}

async function link(place: Place, network: number): Promise<void> {
  const middle = (...command: string[]): Promise<void> => must(...inPlace("middle", "ip", ...command));
  const end = (...command: string[]): Promise<void> => must(...inPlace(place, "ip", ...command));
  await middle("link", "add", place, "type", "veth", "peer", "name", "eth0", "netns", nameOf(place));
  await middle("addr", "add", `198.18.${network}.1/24`, "dev", place);
  await middle("link", "set", place, "up");
  await end("addr", "add", `198.18.${network}.2/24`, "dev", "eth0");
  await end("link", "set", "eth0", "up");
  // A route for everything, as hosts have one: what is not for the machine in the middle ends there.
  await end("route", "add", "default", "via", `198.18.${network}.1`);
}

/** What runs in them must have ended. */
export async function removeNetworks(): Promise<void> {
  for (const place of PLACES) await run(["ip", "netns", "delete", nameOf(place)]);
}

async function must(...command: string[]): Promise<void> {
  const { code, output } = await run(command);
  if (code !== 0) throw new Error(`${command.join(" ")}: ${output}`);
}
