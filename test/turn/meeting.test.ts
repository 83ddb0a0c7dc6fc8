/**
 * A meeting between two networks without a direct way: the pages' media goes over coturn, with the credentials of their joins; and when
 * the secret has changed, with those that came with the next connect tokens. In full runs only.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { Service } from "../browser/support/service.ts";
import { Visitor } from "../browser/support/visitor.ts";
import { Application } from "../support/application.ts";
import { whyNoNamespaces } from "../support/namespaces.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { launchIn } from "./support/caller.ts";
import { startCoturn } from "./support/coturn.ts";
import { MIDDLE_ADDRESS, makeNetworks, removeNetworks } from "./support/network.ts";
import { Way } from "./support/way.ts";

setDefaultTimeout(180_000);

const SECRETS = ["the-first-secret-0123456789abcde", "the-second-secret-0123456789abcd"] as const;
const turn = (secret: string) => ({
  PARLEY_TURN_URLS: `turn:${MIDDLE_ADDRESS}:3478?transport=udp`,
  PARLEY_TURN_SECRET: secret,
});
const PLACES = ["left", "right"] as const;

/** The page's connections, to ask them how they reach the other one; and what waits for hours can be done at once. */
const INSTRUMENTS = `
  globalThis.connections = [];
  const Original = RTCPeerConnection;
  globalThis.RTCPeerConnection = class extends Original {
    constructor(...args) {
      super(...args);
      connections.push(this);
    }
  };
  globalThis.routes = async () => {
    const found = [];
    for (const connection of connections) {
      if (connection.connectionState !== "connected") continue;
      const stats = await connection.getStats();
      const all = [...stats.values()];
      const { selectedCandidatePairId } = all.find(({ type }) => type === "transport");
      const { localCandidateId, remoteCandidateId } = stats.get(selectedCandidatePairId);
      const [server] = connection.getConfiguration().iceServers;
      found.push({
        isRelayed: [localCandidateId, remoteCandidateId].some((id) => stats.get(id).candidateType === "relay"),
        username: server.username,
        attempt: /a=ice-ufrag:(\\S+)/.exec(connection.localDescription.sdp)[1],
      });
    }
    return found;
  };
  const HOUR_MS = 3_600_000;
  const waiting = new Set();
  const setTimer = setTimeout;
  globalThis.setTimeout = (run, ms, ...args) => {
    if (ms > HOUR_MS) waiting.add(run);
    return setTimer(run, ms, ...args);
  };
  globalThis.dayPasses = () => {
    for (const run of [...waiting]) run();
  };`;

interface Route {
  readonly isRelayed: boolean;
  /** With which the page asks for a relay. */
  readonly username: string;
  /** Another one whenever a way was looked for anew. */
  readonly attempt: string;
}

const isFull = process.env.PARLEY_TEST_FULL !== undefined;
const reason = isFull ? await whyNoNamespaces() : "it runs with PARLEY_TEST_FULL=1";
if (isFull && reason !== undefined) console.warn(`a meeting over coturn is skipped: ${reason}`);

describe.skipIf(reason !== undefined)("a meeting in two networks with coturn between them", () => {
  const folder = tempFolder();
  let service: Service;
  let coturn: Awaited<ReturnType<typeof startCoturn>>;
  let way: Way;
  let browsers: Browser[] = [];

  beforeAll(async () => {
    service = await Service.start({ ...turn(SECRETS[0]), PARLEY_TRUSTED_PROXIES: "127.0.0.1" });
    await makeNetworks();
    coturn = await startCoturn(folder, [SECRETS[0]]);
    way = await Way.open(service.port, folder, PLACES);
    browsers = await Promise.all(PLACES.map((place) => launchIn(place, folder)));
  });

  afterAll(async () => {
    await Promise.all(browsers.map((browser) => browser.close()));
    await way?.stop();
    await coturn?.stop();
    await service?.stop();
    await removeNetworks();
    removeFolder(folder);
  });

  /** Resolves when the connection of each page is relayed and as it should be. */
  async function relayed(what: string, pages: readonly Visitor[], is: (route: Route) => boolean): Promise<Route[]> {
    let found: Route[] = [];
    await until(
      what,
      async () => {
        found = (await Promise.all(pages.map(({ page }) => page.evaluate<Route[]>("routes()")))).flat();
        return found.length === pages.length && found.every((route) => route.isRelayed && is(route));
      },
      60_000,
    );
    return found;
  }

  test("media is relayed, and goes on with new credentials", async () => {
    const app = new Application(service.url, "demo", service.keys.appSecret);
    await app.must("POST", "/room", { roomName: "standup" });
    const [ada, ben] = (await Promise.all(
      browsers.map(async (browser, at) => {
        const visitor = await Visitor.open(browser, { expected: /ERR_|WebSocket|50\d/ });
        await visitor.context.addInitScript(INSTRUMENTS);
        await visitor.goto(`http://${app.host}/standup`);
        return visitor.enter(["Ada", "Ben"][at] ?? "");
      }),
    )) as [Visitor, Visitor];
    await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);
    const first = await relayed("media is relayed", [ada, ben], () => true);

    await service.down();
    await ada.page.locator(".banner", { hasText: "The connection was lost" }).waitFor();
    await service.up(turn(SECRETS[1]));
    await Promise.all([ada, ben].map((one) => one.announced("Connected again.")));
    await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);

    // Their connect tokens, which live for a day, are renewed, and with them the credentials.
    await Promise.all([ada, ben].map(({ page }) => page.evaluate("dayPasses()")));
    const old = new Set(first.map(({ username }) => username));
    const renewed = await relayed("both have new credentials", [ada, ben], ({ username }) => !old.has(username));
    // Its relays end with it, and from now on it refuses what was issued before.
    await coturn.stop();
    coturn = await startCoturn(folder, [SECRETS[1]]);
    const before = new Set(renewed.map(({ attempt }) => attempt));
    await relayed("both have found a way anew", [ada, ben], ({ attempt }) => !before.has(attempt));
    await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);
    expect([...ada.complaints, ...ben.complaints]).toEqual([]);
  });
});
