/**
 * The first section of docs/clustering.md in a fresh clone, with its own folder and the default ports of everything. Debian's packages would start PostgreSQL
 * and NATS as services of the machine; here both run in the network of the test, on the same ports. test/nodes compares what is printed.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type NatsServer, startNats } from "../../src/engine/testing/nats-server.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import type { Child } from "../docs/support/child.ts";
import { blocks } from "../docs/support/page.ts";
import { whyNoNamespaces } from "../support/namespaces.ts";
import { IS_FULL } from "../support/slack.ts";
import { Newcomer } from "./support/newcomer.ts";

setDefaultTimeout(300_000);

const isPossible = IS_FULL && (await whyNoNamespaces()) === undefined;

let user: Newcomer;
let postgres: PostgresServer;
let nats: NatsServer;
beforeAll(async () => {
  if (!isPossible) return;
  user = await Newcomer.arrive();
  const { prefix } = user;
  [postgres, nats] = await Promise.all([PostgresServer.start({ port: 5432, prefix }), startNats([], 4222, "", prefix)]);
});
afterAll(async () => {
  await Promise.all([nats?.stop(), postgres?.stop()]);
  await user?.leave();
});

test.skipIf(!isPossible)("docs/clustering.md: two nodes on one machine", async () => {
  const pages = blocks("docs/clustering.md").filter(({ heading }) => heading.startsWith("Try two nodes"));
  const [services = "", settings = "", one = "", other = "", listen = "", publish = ""] = pages.map(({ text }) => text);
  const { username, password } = new URL(postgres.url("postgres"));
  // As the user postgres, whom Debian's server lets in by its name.
  const env = {
    PGHOST: "127.0.0.1",
    PGUSER: username,
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: "postgres",
  };
  const asPostgres = services.replace(/^sudo apt-get install .*\n/, "").replaceAll("sudo -u postgres ", "");
  const codesOf = async (script: string, shell = {}): Promise<unknown[]> =>
    (await user.paste(script, shell)).map(({ command, code, err }) => (code === 0 ? code : { command, err }));
  expect(await codesOf(asPostgres, { env })).toEqual([0, 0]);
  expect((await codesOf(settings)).every((code) => code === 0)).toBe(true);
  const nodes: Child[] = [one, other].map((script) => user.stay(script));
  try {
    for (const node of nodes) await node.writes(/parley is ready/, 60_000);
    await using listener = user.stay(listen);
    await listener.writes(/listening to chat\/1/);
    expect(await codesOf(publish)).toEqual([0, 0]);
    await listener.writes(/chat\/1 .*hello from the other node/);
  } finally {
    for (const node of nodes) await node.stop("SIGTERM");
  }
});
