/**
 * A walk over /openapi.json: every operation of the service, with input that its schemas allow and input that they do not. No
 * response may be 500, and every response must be one that the document describes.
 *
 * Each operation has its own fixtures (an application with keys, a room, a recording), so that a deletion affects no other
 * operation. PARLEY_TEST_FULL=1 makes many times as many requests.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { JPEG } from "../../src/recordings/testing/jpeg.ts";
import { ALL_ACTIONS, freshName, mintToken } from "../support/admin.ts";
import { Application } from "../support/application.ts";
import { expectFrame } from "../support/checks.ts";
import { Contract, type Document, type Operation } from "../support/contract.ts";
import { cookieOf, DASHBOARD, signIn } from "../support/dashboard.ts";
import { ANYTHING, Generator, type Hints } from "../support/generate.ts";
import { type Answer, call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { found } from "../support/wait.ts";
import { NEVER } from "./support/never.ts";

setDefaultTimeout(300_000);

const MORE_WALKS = 200;
/** For webhooks: no name of this kind leads anywhere. */
const NOWHERE = "https://webhook.invalid/";
/** Bodies that are files, where any bytes will not do. */
const FILES: Readonly<Record<string, Uint8Array<ArrayBuffer>>> = { "PUT /api/v1/upload/{id}/thumbnail": JPEG };
/** Fewer than there may be operators: one of the operations makes them. */
const RUNS = process.env.PARLEY_TEST_FULL ? 100 : 3;
/** One address may make 20 of these calls a minute. */
const RUNS_PER_ADDRESS = 5;
const NEEDS_STAY = /\{roomName\}\/(act|recording)$/;
const IS_LIMITED = /\/(door|join|act|\{roomName\}\/recording)$/;

/** One server for all tests; started here, because its document gives the tests their names. */
const server: Server = await startParley({
  env: {
    PARLEY_REST_REQUESTS_PER_SECOND: "0",
    PARLEY_TURN_URLS: "turn:127.0.0.1:3478",
    PARLEY_TURN_SECRET: "0123456789abcdef",
  },
});
const { body: document } = await call<Document>(`${server.url}/openapi.json`);
const contract = new Contract(document);
afterAll(() => server.stop());

interface Step {
  readonly method: string;
  /** The path as in the document: /v1/peers/{peerId}. */
  readonly path: string;
  readonly operation: Operation;
}

const steps: Step[] = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/** Everything that a path or a body may refer to. */
interface World {
  readonly names: Readonly<Record<string, string>>;
  readonly application: Application;
  readonly credentials: Readonly<Record<string, string>>;
  readonly hints: Hints;
  /** Addresses that carry a signature, by operation. */
  readonly links: Readonly<Record<string, string>>;
  /** What a browser sends besides the cookie. */
  readonly headers: Readonly<Record<string, string>>;
}

async function newWorld({ path }: Pick<Step, "path">): Promise<World> {
  const { admin, url } = server;
  const isDashboard = path.startsWith("/dashboard/");
  const { name, secretKey, _id } = await admin.createApp();
  if (path.endsWith("/history"))
    await admin.must("PATCH", `/apps/${_id}`, {
      channelRules: [{ pattern: "**", history: { messages: 10, seconds: 60 } }],
    });
  const key = await admin.createKey(name);
  const application = new Application(url, name, secretKey, _id);
  const room = await application.must("POST", "/room", {});
  const { token: accessToken } = await application.must<{ token: string }>("POST", "/token", {});
  const { apiKey } = await application.must<{ apiKey: string }>("POST", "/turn/credential", {});
  const { id, links } = await newRecording(application, String(room._id));
  const { hook, delivery } = path.includes("/webhooks") ? await newWebhook(application) : NO_WEBHOOK;
  const names = {
    app: name,
    keyId: key.keyId,
    channel: "chat/1",
    peerId: "alice",
    roomName: String(room.roomName),
    id: path.includes("/operators/") ? await newOperator() : path.includes("/webhooks") ? hook : id,
    delivery,
  };
  return {
    application,
    names,
    links,
    headers: isDashboard ? { ...DASHBOARD, Origin: url, Cookie: await newSession() } : {},
    credentials: { secretKey: key.credential, admin: server.adminToken, applicationBearer: secretKey },
    hints: {
      app: fc.constantFrom(name, _id),
      name: fc.nat().map(() => freshName()),
      // New names for rooms, so that most of them are free.
      roomName: fc.oneof(fc.stringMatching(/^[A-Za-z0-9_-]{8,30}$/), fc.integer({ min: 1e9 })),
      room: fc.constantFrom(String(room.roomName), String(room._id)),
      token: isDashboard
        ? fc.constant(server.adminToken)
        : fc.constantFrom(accessToken, await mintToken(url, key.credential)),
      channels: fc.constantFrom([], ["chat/1"], ["a/*", "b/**"]),
      channelPatterns: fc.constantFrom([], ["**"], ["a/*", "b/**"]),
      permissions: fc.subarray(ALL_ACTIONS),
      allowedOrigins: fc.constantFrom([], ["*"], ["https://example.com"]),
      url: fc.constant(NOWHERE),
      events: fc.constantFrom(["room.*"], ["meeting.*", "recording.ready"]),
      headers: fc.constantFrom({}, { "X-Tenant": "acme" }),
      intervals: fc.constantFrom(
        [],
        [[0, 400]],
        [
          [1200, 3400],
          [9000, 12_500],
        ],
      ),
      lang: fc.constantFrom("en", "pt-BR"),
      apiKey: fc.constant(apiKey),
      expireUnixSec: fc.constantFrom(0, null, 1_999_999_999),
      notBeforeUnixSec: fc.constantFrom(0, null, 1, 1_899_999_999),
      endId: fc.constantFrom(id, String(room._id)),
      ...Object.fromEntries(
        ["Join", "Left", "Started", "Ended"].map((what) => [
          `meeting${what}Webhook`,
          fc.constantFrom(NOWHERE, null, ""),
        ]),
      ),
    },
  };
}

const NO_WEBHOOK = { hook: "", delivery: "1" };

/** A webhook of the application's backend, and the first attempt to call it. */
async function newWebhook(application: Application): Promise<typeof NO_WEBHOOK> {
  const made = { url: NOWHERE, events: ["room.created"] };
  const { _id: hook } = await application.must<{ _id: string }>("POST", "/webhooks", made);
  await application.must("POST", "/room", {});
  const delivery = await found("an attempt", async () => {
    const { data } = await application.must<{ data: { _id: string }[] }>("GET", `/webhooks/${hook}/deliveries`);
    return data[0]?._id;
  });
  return { hook, delivery };
}

/** Signing in has a rate, which the calls of a walk have used as well. */
async function newSession(): Promise<string> {
  for (;;) {
    const answer = await signIn(server.url, server.adminToken);
    if (answer.status !== 429) return cookieOf(answer);
    await Bun.sleep(Number(answer.headers.get("retry-after")) * 1000);
  }
}

/** Only for its own calls: the number of operators is limited. */
const newOperator = async (): Promise<string> =>
  (await server.admin.must<{ _id: string }>("POST", "/operators", { name: freshName(), role: "read" }))._id;

/** A complete recording with its links, and the address of an upload that has only begun. */
async function newRecording(application: Application, room: string): Promise<Pick<World, "links"> & { id: string }> {
  const begin = () =>
    application.must<{ _id: string; uploadUrl: string }>("POST", "/recording", {
      room,
      participantUsername: "Ann",
      type: "video",
    });
  const here = (url: string): string => url.slice(url.indexOf("/", "https://".length));
  const beside = (url: string, what: string): string => here(url).replace("?", `/${what}?`);
  const { _id: id, uploadUrl } = await begin();
  const put = (path: string, body: Uint8Array<ArrayBuffer>) =>
    call(application.url + path, { method: "PUT", body, headers: { Host: application.host } });
  await put(beside(uploadUrl, "thumbnail"), JPEG);
  await put(here(uploadUrl), new Uint8Array(100));
  await application.must("POST", `/recording/${id}/complete`, {});
  const link = async (how: string) => (await application.must<{ url: string }>("GET", `/recording/${id}/${how}`)).url;
  return {
    id,
    links: {
      "PUT /api/v1/upload/{id}": here((await begin()).uploadUrl),
      "PUT /api/v1/upload/{id}/thumbnail": beside((await begin()).uploadUrl, "thumbnail"),
      "PUT /api/v1/upload/{id}/speech": beside((await begin()).uploadUrl, "speech"),
      "GET /api/v1/file/{id}/view": here(await link("view")),
      "GET /api/v1/file/{id}/download": here(await link("download")),
    },
  };
}

interface Draw {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: string | undefined;
}

/** undefined as body: none is sent. */
function draws({ operation, path }: Step, world: World, isValid: boolean): fc.Arbitrary<Draw> {
  const generator = new Generator(document.components.schemas, world.hints);
  const parameters = operation.parameters.filter((one) => one.in === "query");
  const query = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, isValid ? generator.valid(schema, name) : ANYTHING]),
  );
  const params = Object.fromEntries(
    [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => {
      const known = fc.constant(world.names[name] ?? "x");
      return [name, isValid ? known : fc.oneof(known, fc.string({ minLength: 1 }), fc.constantFrom(...TRICKS))];
    }),
  );
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const value = schema && (isValid ? generator.valid(schema) : generator.invalid(schema));
  const asText = value?.map((one) => JSON.stringify(one));
  const body = isValid ? asText : asText && fc.oneof({ weight: 8, arbitrary: asText }, fc.string(), BROKEN);
  return fc.record({
    params: fc.record(params),
    query: fc.record(query, {
      requiredKeys: isValid ? parameters.filter((one) => one.required).map((one) => one.name) : [],
    }),
    body: body ?? fc.constant(undefined),
  });
}

const TRICKS = ["..", ".", "../..", "%00", "a/b", "\u0000", "ü", "x".repeat(300), "%", "?", "#", " "];
const BROKEN = fc.constantFrom("{", "[]", "null", '{"a":1,"a":2}', "\ufeff{}", "x".repeat(200_000), "");

async function take(step: Step, world: World, draw: Draw, isValid = false): Promise<Answer> {
  const { method, path, operation } = step;
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(draw.params[name]?.toWellFormed() ?? ""),
  );
  const pairs = Object.entries(draw.query).map(([name, value]): [string, string] => [
    name,
    (typeof value === "object" ? JSON.stringify(value) : String(value)).toWellFormed(),
  ]);
  const query = pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : "";
  const scheme = Object.keys(operation.security?.[0] ?? {})[0];
  const link = isValid ? world.links[`${method} ${path}`] : undefined;
  const isStream = operation.requestBody && draw.body === undefined;
  const answer = await call(server.url + (link ?? filled + query), {
    method,
    ...(draw.body !== undefined && { body: draw.body }),
    ...(isStream && { body: FILES[`${method} ${path}`] ?? "some bytes" }),
    ...(scheme && { bearer: world.credentials[scheme] ?? "" }),
    headers: {
      ...world.headers,
      ...(operation.servers && { Host: world.application.host }),
      ...(draw.body !== undefined && { "Content-Type": "application/json" }),
    },
  });
  expect(answer.status).not.toBe(500);
  // A path that the server normalises (`..`) is another operation or none, which the document does not describe here.
  if (isSamePath(filled)) contract.check(method, filled, answer);
  if (answer.status !== 206) expectFrameOf(answer);
  return answer;
}

const isSamePath = (path: string): boolean => new URL(path, "http://x").pathname === path && !/%2F|%00/i.test(path);

/** A file has its own headers; common to every response are the request id and no-store. */
function expectFrameOf(answer: Answer): void {
  if (answer.headers.get("content-type")?.startsWith("application/json")) expectFrame(answer);
  else expect(answer.headers.get("cache-control")).toContain("no-store");
}

let worlds = 0;
beforeAll(() => {
  expect(steps.length).toBeGreaterThan(25);
});

for (const step of steps) {
  const title = `${step.method} ${step.path}`;
  // One set of fixtures is enough for operations that only read. A session may be ended by later ones.
  const lasting = step.method === "GET" && !step.path.startsWith("/dashboard/") ? newWorld(step) : undefined;
  const world = (): Promise<World> => {
    worlds++;
    return lasting ?? newWorld(step);
  };

  const walk = async (isValid: boolean): Promise<Set<number>> => {
    const seen = new Set<number>();
    for (let left = IS_LIMITED.test(step.path) ? RUNS_PER_ADDRESS : RUNS; left > 0; left -= 5) {
      // Some calls delete their fixtures, so new ones are created after every few.
      const here = await world();
      await fc.assert(
        fc.asyncProperty(draws(step, here, isValid), async (draw) => {
          const answer = await take(step, here, draw, isValid);
          seen.add(answer.status);
          // The operator of this walk has a rate, which the other operations have used as well.
          if (answer.status === 429) await Bun.sleep(Number(answer.headers.get("retry-after")) * 1000);
        }),
        { numRuns: step.method === "DELETE" ? 1 : 5, endOnFailure: true },
      );
    }
    return seen;
  };

  test(`${title}: input that its schema allows`, async () => {
    const seen = await walk(true);
    if (title in NEVER) return;
    // Random input may be allowed by the schema and still wrong, such as a token for another room; then it is drawn again.
    for (let more = 0; more < MORE_WALKS && !seen.has(200); more++)
      for (const status of await walk(true)) seen.add(status);
    expect([...seen]).toContain(200);
  });

  test(`${title}: input that its schema does not allow`, async () => {
    await walk(false);
  });
}

test("every operation with a body has refused a wrong one with 400", async () => {
  // With the headers of a browser, which other calls do not need.
  const here = await newWorld({ path: "/dashboard/session" });
  for (const step of steps.filter((one) => one.operation.requestBody?.content["application/json"])) {
    const draw = { params: here.names, query: {}, body: "{" };
    const isSigned = `${step.method} ${step.path}` in here.links;
    let answer = await take(step, here, draw, isSigned);
    // The other tests may have used up what one address may do.
    while (answer.status === 429) {
      await Bun.sleep(Number(answer.headers.get("retry-after")) * 1000);
      answer = await take(step, here, draw, isSigned);
    }
    // The connect token of a stay is checked before the body is read, and no one is inside here.
    expect([step.path, answer.status]).toEqual([step.path, NEEDS_STAY.test(step.path) ? 401 : 400]);
  }
  expect(worlds).toBeGreaterThan(0);
  expect(server.output).not.toContain("internal error while handling a request");
});
