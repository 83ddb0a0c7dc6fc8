/**
 * A service with the embedded stores, of one process and of workers: the release before is stopped under load, this version is started on its
 * data, and clients come back. Then the way back, with the commands of docs/upgrading.md.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { schemaVersion } from "../../src/store/migrate.ts";
import { freePort } from "../../src/testing/ports.ts";
import { Fleet } from "../../src/verify/fleet.ts";
import { VERSION } from "../../src/version.ts";
import { SETTLE_MS } from "../cluster/support/load.ts";
import { show } from "../cluster/support/show.ts";
import { run } from "../deploy/support/program.ts";
import { blocks } from "../docs/support/page.ts";
import { Admin, type SecretKey } from "../support/admin.ts";
import { commandOf, PARLEY_MAIN } from "../support/command.ts";
import { flowing } from "../support/flowing.ts";
import { call } from "../support/http.ts";
import { launchParley, runParley, type Server } from "../support/parley.ts";
import { BEFORE, unpackBefore, WITH_BEFORE } from "../support/release-before.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(300_000);

const RULES = [{ pattern: "stored/**", history: { messages: 10_000, seconds: 3600 } }];
const OLD_SCHEMA = 16;

let folder: string | undefined;
let beforeMain = "";
beforeAll(async () => {
  if (!WITH_BEFORE) return;
  folder = tempFolder();
  beforeMain = await unpackBefore(folder);
});
afterAll(() => {
  if (folder) removeFolder(folder);
});

/** One data folder and one port, on which services of both versions are started in turn. */
class Place {
  readonly data = join(tempFolder(folder), "data");
  private readonly env: Record<string, string>;
  private port = "";
  private server: Server | undefined;

  constructor(workers: number) {
    this.env = {
      PARLEY_WORKERS: String(workers),
      PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
      PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
      PARLEY_REST_REQUESTS_PER_SECOND: "0",
      PARLEY_DRAIN_SECONDS: "1",
      PARLEY_DEMO: "off",
    };
  }

  async start(main: string): Promise<Server> {
    this.port ||= String(await freePort());
    const { data, env, port } = this;
    const server = launchParley({ data, env, port, main });
    this.server = server;
    server.url = String((await server.logged(({ msg }) => msg === "parley is ready")).url);
    server.admin = new Admin(server.url, server.setToken);
    return server;
  }

  async stop(): Promise<void> {
    expect(await this.server?.kill("SIGTERM")).toBe(0);
  }

  async check(): Promise<{ code: number; value: Record<string, unknown> }> {
    const { code, output } = await runParley(["upgrade", "--check", "--json", "--data", this.data]);
    return { code, value: JSON.parse(output.split("\n").find((line) => line.startsWith("{")) ?? "") };
  }
}

async function keyOf({ admin }: Server): Promise<SecretKey> {
  const app = await admin.createApp();
  await admin.must("PATCH", `/apps/${app._id}`, { channelRules: RULES });
  return admin.createKey(app._id);
}

/** Runs the commands of the page, as the program of the release before. */
async function goBack(data: string): Promise<void> {
  const [, back = ""] = blocks("docs/upgrading.md")
    .filter(({ language }) => language === "sh")
    .map(({ text }) => text);
  expect(back).toContain("restore");
  const program = commandOf(beforeMain, []).join(" ");
  const script = `cd '${join(data, "..")}' && parley() { ${program} "$@"; }\n${back.replaceAll("bin/parley", "parley")}`;
  expect(await run(["sh", "-ec", script])).toMatchObject({ code: 0 });
}

describe.skipIf(!WITH_BEFORE).each([
  ["one process", 1],
  ["two workers", 2],
])("%s", (name, workers) => {
  test("clients come back to the new version, with all that was acknowledged; and the version before can be restored", async () => {
    const place = new Place(workers);
    const before = await place.start(beforeMain);
    const secretKey = (await keyOf(before)).credential;
    const urls = [before.url.replace(/^http/, "ws")];
    const load = { urls, secretKey, clients: 40, channels: 8, rate: 100 };
    await using stored = await Fleet.open({ ...load, prefix: "stored", history: true });
    await using plain = await Fleet.open({ ...load, prefix: "plain" });
    stored.talk();
    plain.talk();
    await flowing(stored, plain);

    expect(await place.check()).toMatchObject({
      code: 0,
      value: {
        version: VERSION,
        found: BEFORE,
        store: { schema: OLD_SCHEMA, schemaAfter: schemaVersion(), copy: { fits: true } },
        history: { schema: 1, schemaAfter: 2, copy: { fits: true } },
        server: { state: "running" },
      },
    });
    // It has disturbed no one.
    await flowing(stored, plain);

    const stoppedMs = performance.now();
    await place.stop();
    expect(await place.check()).toMatchObject({ code: 0, value: { found: BEFORE, server: { state: "stopped" } } });
    const now = await place.start(PARLEY_MAIN);
    const clients = [...stored.clients, ...plain.clients];
    await until("a client has not come back", () => clients.every(({ isListening }) => isListening));
    const awayMs = Math.round(performance.now() - stoppedMs);
    await flowing(stored, plain);
    stored.hush();
    plain.hush();
    const [ofStored, ofPlain] = [await stored.settle(SETTLE_MS), await plain.settle(SETTLE_MS)];
    show(`upgrade of ${name}`, { awayMs, stored: ofStored.figures, plain: ofPlain.figures });
    expect([ofStored.problems, ofPlain.problems]).toEqual([[], []]);
    expect(ofStored.figures.unrecovered).toBe(0);
    for (const { figures } of [ofStored, ofPlain]) expect(figures.closes).toEqual({ "1001": 40 });

    const upgrades = now.log.map(({ msg }) => msg).filter((msg) => / upgrad|^upgrading/.test(msg));
    const copies = ["parley", "history"].map((one, at) =>
      join(place.data, "before-upgrade", `${one}-schema-${[16, 1][at]}.sqlite`),
    );
    expect(upgrades).toEqual([
      `upgrading the store: schema ${OLD_SCHEMA} → ${schemaVersion()}`,
      expect.stringContaining(`a copy of the old store is in ${copies[0]}`),
      "upgrading the history: schema 1 → 2",
      expect.stringContaining(`a copy of the old history is in ${copies[1]}`),
    ]);
    for (const copy of copies) expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect((await place.check()).value).toMatchObject({
      found: VERSION,
      store: { schema: schemaVersion(), migrations: [] },
      server: { state: "running", version: VERSION },
    });
    await place.stop();

    await goBack(place.data);
    await place.start(beforeMain);
    expect((await call(`${before.url}/v1/channels`, { bearer: secretKey })).status).toBe(200);
    await using restored = await Fleet.open({ ...load, prefix: "stored", history: true });
    await restored.talkFor(1);
    expect((await restored.settle(SETTLE_MS)).problems).toEqual([]);
    await place.stop();
    await place.start(PARLEY_MAIN);
    await place.stop();
    expect(existsSync(copies[0] ?? "")).toBe(true);
    expect(readFileSync(copies[0] ?? "").length).toBeGreaterThan(0);
  });
});
