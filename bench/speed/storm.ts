/** (j): all peers into one channel at the same moment. The crowds of the connections benchmark know when it is over. */
import { measureStorms } from "../connections/storm.ts";
import { Crowds } from "../lib/crowds.ts";
import { startParley } from "../lib/parley.ts";
import type { Figures } from "./loads.ts";

const CROWDS = 2;

/** The storm of connected peers. Throws if a peer does not know all the others. */
export async function presenceStorm(): Promise<Figures> {
  await using crowds = await Crowds.start(CROWDS);
  await using parley = await startParley();
  const subject = { name: "parley", pid: parley.pid, url: parley.url, secretKey: parley.secretKey };
  const [storm] = await measureStorms(crowds, subject, { metadataBytes: 0 });
  if (!storm?.holds) throw new Error(`a join storm failed: ${storm?.problem}`);
  const { userMicroseconds, systemMicroseconds, seconds, frames } = storm;
  return { cpuUsPerJoin: userMicroseconds + systemMicroseconds, seconds, frames };
}
