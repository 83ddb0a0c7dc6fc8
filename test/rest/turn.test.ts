/** TURN credentials of a running server: as existing clients call for them, in joins, and in welcomes by the key's field. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHmac } from "node:crypto";
import { Room } from "../conformance/raw/support/rooms.ts";
import { newApp, type World } from "../conformance/raw/support/world.ts";
import { Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { type Answer, call } from "../support/http.ts";
import { forge, nowSeconds } from "../support/jwt.ts";

setDefaultTimeout(60_000);

const SECRET = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const RELAYS = ["turn:turn.example.com:3478?transport=udp", "turns:turn.example.com:443"];
const STUN = "stun:turn.example.com";
const DAY = 86_400;

const server = await checkedServerForTests({
  env: { PARLEY_TURN_URLS: [...RELAYS, STUN].join(), PARLEY_TURN_SECRET: `${SECRET},the-secret-of-last-year` },
});
const plain = await checkedServerForTests();
const app = await newApplication(server);

interface Credential {
  readonly username: string;
  readonly password: string;
  readonly expiryInSeconds: number;
  readonly label: string;
  readonly apiKey: string;
}

interface IceServer {
  readonly urls: string | string[];
  readonly username?: string;
  readonly credential?: string;
}

/** As coturn computes it. */
const credentialOf = (username: string): string => createHmac("sha1", SECRET).update(username).digest("base64");
const expiryOf = (username = ""): number => Number(username.split(":")[0]);

const make = (body: object = {}, of: Application = app): Promise<Credential> =>
  of.must<Credential>("POST", "/turn/credential", body);
/** As a page calls it: without a secret key. */
const get = (apiKey: string, of: Application = app): Promise<Answer<unknown>> =>
  of.call("GET", `/turn/credentials?apiKey=${encodeURIComponent(apiKey)}`, undefined, {
    headers: { Authorization: "" },
  });

/** What is left of the time in a username, in seconds; a test may be slow. */
const expectGoodFor = (username: string | undefined, seconds: number): void => {
  expect(expiryOf(username) - nowSeconds()).toBeWithin(seconds - 30, seconds + 1);
};

describe("POST /turn/credential", () => {
  test("gives a credential that coturn accepts, good for as long as was asked", async () => {
    const made = await make({ expiryInSeconds: 14_400, label: "web ü" });
    expect(made).toEqual({
      username: expect.stringMatching(new RegExp(`^\\d{10}:${app.id}\\.[0-9a-f]{16}$`)) as string,
      password: credentialOf(made.username),
      expiryInSeconds: 14_400,
      label: "web ü",
      apiKey: expect.stringMatching(/^tk_[\w.-]+$/) as string,
    });
    expectGoodFor(made.username, 14_400);
  });

  test("is good for a day and has an empty label if the call does not say; forms and ?secretKey= work", async () => {
    const { username, expiryInSeconds, label } = await make();
    expect([expiryInSeconds, label]).toEqual([DAY, ""]);
    expectGoodFor(username, DAY);
    const { body, status } = await app.call(
      "POST",
      `/turn/credential?secretKey=${app.secretKey}`,
      "expiryInSeconds=60",
      {
        headers: { Authorization: "", "Content-Type": "application/x-www-form-urlencoded" },
      },
    );
    expect([status, body.expiryInSeconds]).toEqual([200, 60]);
  });

  test.each([
    ["expiryInSeconds", 0],
    ["expiryInSeconds", 31_536_001],
    ["expiryInSeconds", 1.5],
    ["expiryInSeconds", "soon"],
    ["label", "x".repeat(129)],
    ["label", "a\nb"],
    ["label", 7],
  ])("refuses %s %p and names it", async (field, value) => {
    const answer = await app.call("POST", "/turn/credential", { [field]: value });
    expect(expectAppRefusal(answer, 400, "invalid_request").error.details?.[0]?.field).toBe(field);
  });

  test("needs the secret key", async () => {
    const answer = await app.call("POST", "/turn/credential", {}, { bearer: "wrong" });
    expectAppRefusal(answer, 400, "invalid_secret_key");
  });
});

describe("GET /turn/credentials", () => {
  test("gives a bare list of ICE servers", async () => {
    const { apiKey, username: made } = await make();
    const { status, body } = await get(apiKey);
    const servers = body as IceServer[];
    const { username = "" } = servers[1] ?? {};
    expect(status).toBe(200);
    expect(servers).toEqual([
      { urls: STUN },
      ...RELAYS.map((urls) => ({ urls, username, credential: credentialOf(username) })),
    ]);
    expect(username.split(":")[1]).toBe(made.split(":")[1]);
    expectGoodFor(username, DAY);
  });

  test("pages of every origin may call it and read why it refuses, but not the other call", async () => {
    const origin = "https://any.example";
    const readableBy = async (method: string, path: string): Promise<[number, string | null]> => {
      const headers = { Host: app.host, Origin: origin };
      const answer = await call(`${app.url}/api/v1/turn${path}`, { method, headers });
      return [answer.status, answer.headers.get("access-control-allow-origin")];
    };
    const { apiKey } = await make();
    expect(await readableBy("GET", `/credentials?apiKey=${apiKey}`)).toEqual([200, origin]);
    expect(await readableBy("OPTIONS", `/credentials?apiKey=${apiKey}`)).toEqual([204, origin]);
    expect(await readableBy("GET", "/credentials?apiKey=x")).toEqual([400, origin]);
    expect(await readableBy("POST", `/credential?secretKey=${app.secretKey}`)).toEqual([200, null]);
  });

  test("its credentials do not outlive the API key, and last a day at most", async () => {
    const ends = async (expiryInSeconds: number): Promise<string | undefined> => {
      const { apiKey } = await make({ expiryInSeconds });
      return ((await get(apiKey)).body as IceServer[])[1]?.username;
    };
    expectGoodFor(await ends(600), 600);
    expectGoodFor(await ends(30 * DAY), DAY);
  });

  test("refuses keys that are missing, forged, of another application, or over, all in the same way", async () => {
    const { apiKey } = await make();
    const other = await newApplication(server);
    const [, payload = "", signature = ""] = apiKey.split(".");
    const nobody = new Application(server.url, "no-such-app", "x");
    const refusals = [
      await get(""),
      await get(`${apiKey.slice(0, -4)}AAAA`),
      await get(`tk_${forge({ alg: "HS256", typ: "JWT" }, Buffer.from(payload, "base64url").toString(), "guessed")}`),
      await get(`tk_eyJhbGciOiJub25lIn0.${payload}.${signature}`),
      await get(app.secretKey),
      await get(apiKey, other),
      await get(apiKey, nobody),
    ];
    const without = await app.call("GET", "/turn/credentials", undefined, { headers: { Authorization: "" } });
    expect(expectAppRefusal(without, 400, "invalid_request").error.details?.[0]?.field).toBe("apiKey");
    const texts = refusals.map((answer) => expectAppRefusal(answer, 400, "invalid_api_key").message);
    expect(new Set(texts)).toEqual(
      new Set(["The API key is missing or not valid. Get a new one with POST /api/v1/turn/credential."]),
    );
  });

  test("an API key is revoked by the rotation of the secret key, after its grace period", async () => {
    const own = await newApplication(server);
    const { apiKey } = await make({}, own);
    await server.admin.must("POST", `/apps/${own.id}/secret-key/rotate`, { graceSec: 3600 });
    expect((await get(apiKey, own)).status).toBe(200);
    await server.admin.must("POST", `/apps/${own.id}/secret-key/rotate`, { retirePrevious: true });
    expectAppRefusal(await get(apiKey, own), 400, "invalid_api_key");
  });
});

describe("joins and welcomes", () => {
  let world: World;
  afterAll(() => world?.hangUp());

  const expectIceServers = (servers: unknown, seconds = DAY): void => {
    const [stun, relay] = servers as IceServer[];
    expect(stun).toEqual({ urls: [STUN] });
    expect(relay).toEqual({
      urls: RELAYS,
      username: relay?.username ?? "",
      credential: credentialOf(relay?.username ?? ""),
    });
    expectGoodFor(relay?.username, seconds);
  };

  test("a join has ICE servers for a moment, and the welcome of its stay those for its time", async () => {
    const { roomName, _id } = await app.must<{ roomName: string; _id: string }>("POST", "/room", { roomName: "calls" });
    const room = new Room(app, roomName, _id);
    const nameIn = (servers: unknown): string | undefined => (servers as IceServer[])[1]?.username?.split(":")[1];
    const joinAndConnect = async (body: object): Promise<string | undefined> => {
      const { wire, welcome, token, join } = await room.enter({ ...body });
      const { iceServers } = join as unknown as { iceServers: IceServer[] };
      const ofStay = (welcome.metadata as { iceServers: unknown }).iceServers;
      expectIceServers(iceServers, 120);
      expectIceServers(ofStay);
      expect(nameIn(ofStay)).toBe(nameIn(iceServers));
      const next = (await room.join({ resume: token })).connect.token;
      const renewed = await wire.request({ type: "renew", token: next });
      expectIceServers((renewed as unknown as { metadata: { iceServers: unknown } }).metadata.iceServers);
      wire.close(1000);
      return nameIn(ofStay);
    };
    const token = await room.accessToken({ name: "Ann" });
    const [ann, sameToken, bob] = [
      await joinAndConnect({ token }),
      await joinAndConnect({ token }),
      await joinAndConnect({}),
    ];
    expect(sameToken).toBe(ann);
    expect(bob).not.toBe(ann);
  });

  test("a welcome has none unless the key has turn, publishable or secret", async () => {
    world = await newApp(server);
    expect((await world.guest()).welcome).not.toHaveProperty("metadata");
    const publishable = await world.admin.createPublishable(world.app._id);
    expect((await world.visitor(publishable.keyId)).welcome).not.toHaveProperty("metadata");
    await world.admin.patchKey(publishable.keyId, { turn: true });
    await world.admin.patchKey(world.key.keyId, { turn: true });
    for (const { welcome } of [await world.visitor(publishable.keyId), await world.guest()])
      expectIceServers(welcome.metadata?.iceServers);
    await world.admin.patchKey(publishable.keyId, { turn: false });
    expect((await world.visitor(publishable.keyId)).welcome).not.toHaveProperty("metadata");
  });

  test("they are added to the metadata of a token, which stays as it is; its own iceServers win", async () => {
    const secret = await world.admin.createKey(world.app._id, { turn: true });
    const added = await world.guest({ metadata: { plan: "pro" } }, {}, secret);
    const { iceServers, ...rest } = added.welcome.metadata as { iceServers: unknown };
    expect(rest).toEqual({ plan: "pro" } as object);
    expectIceServers(iceServers);
    for (const own of [[], [{ urls: ["turn:own.example"] }], null])
      expect((await world.guest({ metadata: { iceServers: own } }, {}, secret)).welcome.metadata).toEqual({
        iceServers: own,
      });
  });
});

test("without TURN settings the calls name them, and joins and welcomes carry none", async () => {
  const own = await newApplication(plain);
  const answers = [await own.call("POST", "/turn/credential", {}), await get("tk_a.b.c", own)];
  for (const answer of answers) {
    const { message } = expectAppRefusal(answer, 501, "turn_not_configured");
    expect(message).toContain("PARLEY_TURN_URLS and PARLEY_TURN_SECRET");
  }
  const { roomName, _id } = await own.must<{ roomName: string; _id: string }>("POST", "/room", { roomName: "calls" });
  expect(await new Room(own, roomName, _id).join({ name: "Ann" })).toMatchObject({ iceServers: [] } as object);
  const world = await newApp(plain, { turn: true });
  expect((await world.guest()).welcome).not.toHaveProperty("metadata");
  world.hangUp();
});

test("the secret is neither shown nor logged", async () => {
  const { text } = await server.admin.call("GET", "/settings");
  expect(text).toContain("PARLEY_TURN_SECRET");
  for (const place of [text, server.output]) {
    expect(place).not.toContain(SECRET);
    expect(place).not.toContain("the-secret-of-last-year");
  }
});
