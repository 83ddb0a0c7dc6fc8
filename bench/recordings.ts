/**
 * Recordings: what a page and its total cost among 1,000,000 recordings, how much memory the server uses while 4 GiB go in and
 * out, and what it costs the service when pages record.
 *
 * `npm run bench -- recordings`                   lists on SQLite, then memory, then streams
 * `npm run bench -- recordings listing`           lists on SQLite only
 * `npm run bench -- recordings listing postgres`  lists on PostgreSQL
 * `npm run bench -- recordings memory`            memory only
 * `npm run bench -- recordings stream`            100 streams of 2 Mbit/s in parts of 2 s
 */
import { listing } from "./recordings/listing.ts";
import { memory } from "./recordings/memory.ts";
import { stream } from "./recordings/stream.ts";

export async function recordings(args: readonly string[]): Promise<boolean> {
  switch (args.join(" ")) {
    case "": {
      const isFast = await listing("SQLite");
      const isSmall = await memory();
      return (await stream()) && isFast && isSmall;
    }
    case "listing":
      return listing("SQLite");
    case "listing postgres":
      return listing("PostgreSQL");
    case "memory":
      return memory();
    case "stream":
      return stream();
    default:
      console.error(
        `bench: recordings takes "listing", "listing postgres", "memory" or "stream", not "${args.join(" ")}"`,
      );
      return false;
  }
}
