/**
 * Recordings: what a page and its total cost among 1,000,000 rows against the same among 1,000 rows in all, and what the server
 * holds in memory while 4 GiB go in and out.
 *
 * `npm run bench -- recordings`          both
 * `npm run bench -- recordings listing`  or `memory`: one of them
 */
import { listing } from "./recordings/listing.ts";
import { memory } from "./recordings/memory.ts";

const PARTS: Readonly<Record<string, () => Promise<boolean>>> = { listing, memory };

export async function recordings(args: readonly string[]): Promise<boolean> {
  const [name] = args;
  if (name !== undefined && !Object.hasOwn(PARTS, name)) {
    console.error(`bench: recordings has ${Object.keys(PARTS).join(" and ")}, not "${name}"`);
    return false;
  }
  let holds = true;
  for (const [part, run] of Object.entries(PARTS))
    if (name === undefined || part === name) holds = (await run()) && holds;
  return holds;
}
