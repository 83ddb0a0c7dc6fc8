/**
 * Two networks without a way from one to the other, as behind the firewalls of two companies: both reach only the machine between them, which
 * does not forward. Each is a network namespace of Linux.
 */
import { addNamespace, deleteNamespace, inNamespace, must } from "../../support/namespaces.ts";

/** The machine between the two, as both networks reach it. */
export const MIDDLE_ADDRESS = "198.18.1.1";
/** A host in the right network. */
export const RIGHT_ADDRESS = "198.18.2.2";

export type Place = "left" | "middle" | "right";
const PLACES: readonly Place[] = ["left", "middle", "right"];

const nameOf = (place: Place): string => `parley-turn-${process.pid}-${place}`;

export const inPlace = (place: Place, ...command: string[]): string[] => inNamespace(nameOf(place), ...command);

export async function makeNetworks(): Promise<void> {
  for (const place of PLACES) await addNamespace(nameOf(place));
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
  for (const place of PLACES) await deleteNamespace(nameOf(place));
}
