/**
 * Recordings: what a page and its total cost among 1,000,000 recordings, and how much memory the server uses while 4 GiB go in and
 * out.
 *
 * `npm run bench -- recordings`                   lists on SQLite, then memory
 * `npm run bench -- recordings listing`           lists on SQLite only
 * `npm run bench -- recordings listing postgres`  lists on PostgreSQL
 * `npm run bench -- recordings memory`            memory only
 */
import { listing } from "./recordings/listing.ts";
import { memory } from "./recordings/memory.ts";

export async function recordings(args: readonly string[]): Promise<boolean> {
  switch (args.join(" ")) {
    case "": {
      const isFast = await listing("SQLite");
      return (await memory()) && isFast;
    }
    case "listing":
      return listing("SQLite");
    case "listing postgres":
      return listing("PostgreSQL");
    case "memory":
      return memory();
    default:
      console.error(`bench: recordings takes "listing", "listing postgres" or "memory", not "${args.join(" ")}"`);
      return false;
  }
}
