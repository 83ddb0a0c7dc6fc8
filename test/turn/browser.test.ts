/** Two pages in Chromium that cannot reach each other talk over coturn, with the credentials that the service has issued. In full runs only. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Room } from "../conformance/raw/support/rooms.ts";
import { type Application, newApplication } from "../support/application.ts";
import { whyNoNamespaces } from "../support/namespaces.ts";
import { startParley } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { Caller, callBetween, type IceServer } from "./support/caller.ts";
import { relay, startCoturn, startEcho } from "./support/coturn.ts";
import { MIDDLE_ADDRESS, makeNetworks, removeNetworks } from "./support/network.ts";

setDefaultTimeout(120_000);

const SECRET = "0123456789abcdef0123456789abcdef";
const URLS = ["udp", "tcp"].map((transport) => `turn:${MIDDLE_ADDRESS}:3478?transport=${transport}`);

const isFull = process.env.PARLEY_TEST_FULL !== undefined;
const reason = isFull ? await whyNoNamespaces() : "it runs with PARLEY_TEST_FULL=1";
if (isFull && reason !== undefined) console.warn(`pages over coturn are skipped: ${reason}`);

describe.skipIf(reason !== undefined)("pages in two networks with coturn between them", () => {
  const folder = tempFolder();
  const running: { stop(): Promise<unknown> }[] = [];
  let app: Application;
  let pages: readonly [Caller, Caller];

  beforeAll(async () => {
    const env = { PARLEY_TURN_URLS: URLS.join(), PARLEY_TURN_SECRET: SECRET };
    const server = await startParley({ env });
    running.push(server);
    app = await newApplication(server);
    await makeNetworks();
    running.push(await startCoturn(folder, [SECRET]), startEcho());
    pages = [await Caller.open("left", folder), await Caller.open("right", folder)];
    running.push(...pages);
  });

  afterAll(async () => {
    for (const one of running.reverse()) await one.stop();
    await removeNetworks();
    removeFolder(folder);
  });

  const issued = async (expiryInSeconds?: number): Promise<IceServer[]> => {
    const { apiKey } = await app.must<{ apiKey: string }>("POST", "/turn/credential", { expiryInSeconds });
    return app.must<IceServer[]>("GET", `/turn/credentials?apiKey=${apiKey}`);
  };

  test("without TURN they do not reach each other", async () => {
    const outcomes = await callBetween(pages, [[], []]);
    expect(outcomes.map(({ state }) => state)).toEqual(["failed", "failed"]);
  });

  test("with what a join and an API key give they talk over the relay", async () => {
    const { roomName, _id } = await app.must<{ roomName: string; _id: string }>("POST", "/room", { roomName: "calls" });
    const { iceServers } = (await new Room(app, roomName, _id).join({ name: "Ann" })) as unknown as {
      iceServers: IceServer[];
    };
    for (const [one, other] of [
      [iceServers, await issued()],
      [iceServers.map((server) => ({ ...server, urls: URLS[1] ?? "" })), []],
    ] as const) {
      const outcomes = await callBetween(pages, [one, other]);
      expect(outcomes).toMatchObject([
        { state: "connected", heard: "hello" },
        { state: "connected", heard: "hello" },
      ]);
      expect(outcomes.map(({ kind }) => kind)).toContain("relay");
    }
  });

  test("a wrong credential and one that has expired are refused, and they do not reach each other", async () => {
    const good = await issued();
    const wrong = good.map((server) => ({ ...server, credential: "AAAAAAAAAAAAAAAAAAAAAAAAAAA=" }));
    const [expired = { urls: "" }] = await issued(1);
    const { username = "", credential = "" } = expired;
    await until("the credential has expired", async () => (await relay(username, credential)).code !== 0);
    for (const bad of [wrong, [expired]]) {
      const [left, right] = await callBetween(pages, [bad, bad]);
      expect([left.state, right.state]).toEqual(["failed", "failed"]);
      expect(left.errors).toContain(401);
    }
  });
});
