/** (j): everybody into one channel at the same moment. The crowds of the connections benchmark know when it is over. */
import { measureStorms } from "../connections/storm.ts";
import { Crowds } from "../lib/crowds.ts";
import { startParley } from "../lib/parley.ts";
import type { Figures } from "./loads.ts";

const CROWDS = 2;

/** Of the storm of connected peers. One in which somebody does not know all the others throws. */
export async function presenceStorm(): Promise<Figures> {
  await using crowds = await Crowds.start(CROWDS);
  await using parley = await startParley();
  const subject = { name: "parley", pid: parley.pid, url: parley.url, secretKey: parley.secretKey };
  const [storm] = await measureStorms(crowds, subject, { metadataBytes: 0 });
  if (!storm?.holds) throw new Error(`a join storm went wrong: ${storm?.problem}`);
  const { userMicroseconds, systemMicroseconds, seconds, frames } = storm;
  return { cpuUsPerJoin: userMicroseconds + systemMicroseconds, seconds, frames };
}
