/**
 * Where the direct way is blocked, clients talk over Debian's coturn with the credentials that the service has issued, and with no others. Two
 * pages in Chromium do so in full runs (browser.test.ts).
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Room } from "../conformance/raw/support/rooms.ts";
import { newApp } from "../conformance/raw/support/world.ts";
import { type Application, newApplication } from "../support/application.ts";
import { whyNoNamespaces } from "../support/namespaces.ts";
import { type Server, startParley } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { reachesDirectly, relay, startCoturn, startEcho } from "./support/coturn.ts";
import { MIDDLE_ADDRESS, makeNetworks, removeNetworks } from "./support/network.ts";

setDefaultTimeout(60_000);

const SECRET = "the-new-secret-0123456789abcdef0";
const OLD_SECRET = "the-old-secret-0123456789abcdef0";
const URLS = `turn:${MIDDLE_ADDRESS}:3478?transport=udp`;

interface IceServer {
  readonly username: string;
  readonly credential: string;
}

const reason = await whyNoNamespaces();
if (reason !== undefined) console.warn(`test/turn is skipped: ${reason}`);

describe.skipIf(reason !== undefined)("two networks with coturn between them", () => {
  const folder = tempFolder();
  const running: { stop(): Promise<unknown> }[] = [];
  let server: Server;
  let app: Application;
  /** Its node still has the secret before, as while it is changed. */
  let appBefore: Application;

  const start = async (secret: string): Promise<Server> => {
    const started = await startParley({ env: { PARLEY_TURN_URLS: URLS, PARLEY_TURN_SECRET: secret } });
    running.push(started);
    return started;
  };

  beforeAll(async () => {
    server = await start(`${SECRET},${OLD_SECRET}`);
    app = await newApplication(server);
    appBefore = await newApplication(await start(OLD_SECRET));
    await makeNetworks();
    running.push(await startCoturn(folder, [SECRET, OLD_SECRET]), startEcho());
  });

  afterAll(async () => {
    await Promise.all(running.map((one) => one.stop()));
    await removeNetworks();
    removeFolder(folder);
  });

  const made = async (of: Application, body: object = {}): Promise<IceServer> => {
    const { username, password } = await of.must<{ username: string; password: string }>(
      "POST",
      "/turn/credential",
      body,
    );
    return { username, credential: password };
  };

  const expectRelayed = async ({ username, credential }: IceServer): Promise<void> => {
    const { code, output } = await relay(username, credential);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/tot_recv_msgs=[1-9]/) });
    expect(output).toContain("Total lost packets 0 ");
  };

  const isRefused = async ({ username, credential }: IceServer): Promise<boolean> => {
    const { code, output } = await relay(username, credential);
    return code !== 0 && output.includes("Cannot complete Allocation");
  };

  test("there is no direct way", async () => {
    expect(await reachesDirectly()).toBe(false);
  });

  test("what calls, joins and welcomes carry relays, also that of a node with the secret before", async () => {
    const { roomName, _id } = await app.must<{ roomName: string; _id: string }>("POST", "/room", { roomName: "calls" });
    const joined = (await new Room(app, roomName, _id).join({ name: "Ann" })) as unknown as { iceServers: [IceServer] };
    const world = await newApp(server, { turn: true });
    const { welcome } = await world.guest();
    world.hangUp();
    const issued = [
      await made(app),
      await made(appBefore),
      joined.iceServers[0],
      (welcome.metadata as { iceServers: [IceServer] }).iceServers[0],
    ];
    await Promise.all(issued.map(expectRelayed));
  });

  test("a wrong credential, that of another name or time, and one that has expired, are refused", async () => {
    const { username, credential } = await made(app);
    const [expiry = "", name] = username.split(":");
    const wrong = [
      { username, credential: Buffer.alloc(20).toString("base64") },
      { username: `${username}x`, credential },
      { username: `${Number(expiry) + 86_400}:${name}`, credential },
    ];
    expect(await Promise.all(wrong.map(isRefused))).toEqual([true, true, true]);
    const short = await made(app, { expiryInSeconds: 1 });
    await until("the credential has expired", () => isRefused(short));
  });
});
