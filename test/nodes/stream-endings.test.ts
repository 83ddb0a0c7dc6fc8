/** What ends the readers and writers of a stream does so on each of two nodes. */
import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import { ENDINGS, EXPIRIES, endsFor, type Place } from "../support/streams/endings.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(60_000);

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
});
afterAll(() => cluster.stop());

const place = (): Place => ({ admin: cluster.pair[0].admin, urls: cluster.nodes.map(({ url }) => url) });

describe("readers and writers of a stream on two nodes end when", () => {
  for (const [name, ending] of Object.entries(ENDINGS)) test(name, () => endsFor(place(), ending));
});

test("readers of a stream on two nodes end when it expires", async () => {
  await Promise.all(Object.values(EXPIRIES).map((expiry) => endsFor(place(), expiry)));
});
