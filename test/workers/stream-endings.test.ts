/** What ends the readers and writers of a stream does so on each of three workers. */
import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import type { World } from "../conformance/raw/support/world.ts";
import { ENDINGS, EXPIRIES, endsFor, type Place } from "../support/streams/endings.ts";
import { startWorkers } from "./support/workers.ts";

setDefaultTimeout(60_000);

let world: World;
beforeAll(async () => {
  world = await startWorkers({}, 3);
});
afterAll(() => world.stop());

const place = (): Place => ({ admin: world.admin, urls: [world.url] });

describe("readers and writers of a stream on three workers end when", () => {
  for (const [name, ending] of Object.entries(ENDINGS)) test(name, () => endsFor(place(), ending));
});

test("readers of a stream on three workers end when it expires", async () => {
  await Promise.all(Object.values(EXPIRIES).map((expiry) => endsFor(place(), expiry)));
});
