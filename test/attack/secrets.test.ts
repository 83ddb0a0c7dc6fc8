/**
 * One long run at log level debug: every call that creates or accepts a secret, and secrets in places where they do not belong.
 * Then every secret of that run is searched for in everything that others may read.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Admin, mint } from "../support/admin.ts";
import { sessionAt } from "../support/dashboard.ts";
import { type Answer, type Call, call, rawCall } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { SecretSearch } from "../support/leaks.ts";
import { runParley, type Server, startParley } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";

setDefaultTimeout(60_000);

/** The two files whose purpose is to hold secrets. */
const ALLOWED_FILES = ["first-run.txt", "master.key"];

const search = new SecretSearch();
/** Responses to calls that must not return a secret. */
const answers: { what: string; status: number; text: string }[] = [];
/** Secrets that are sent in wrong places, by kind. */
const misplaced: [string, string][] = [];
let data: string;
let server: Server;
let admin: Admin;
let log = "";
let metrics = "";
/** The files while the server was running, and after it had stopped. */
const files: { what: string; bytes: Buffer }[] = [];

beforeAll(async () => {
  data = tempFolder();
  server = await startParley({
    data,
    // No admin token is set: the one that the first start generates must stay out of the log too.
    env: { PARLEY_LOG_LEVEL: "debug", PARLEY_ADMIN_TOKEN: "", PARLEY_REST_REQUESTS_PER_SECOND: "200" },
    // The disk is full after a while, which causes a 500.
    wrap: ["sh", "-c", 'trap "" XFSZ; ulimit -f 4000; exec "$@"', "sh"],
  });
  admin = server.admin;
  await makeSecrets();
  await misplaceSecrets();
  keepFiles("while running");
  await fillDisk();
  await exhaustRates();
  metrics = (await call(`${server.url}/metrics`)).text;
  await server.kill("SIGTERM");
  log = server.output;
  keepFiles("after the end");
  const backup = join(data, "backup.parley");
  const { code, output } = await runParley(["backup", backup, "--data", data]);
  if (code !== 0) throw new Error(output);
  keepFiles("with the backup");
});

afterAll(async () => {
  await server.kill();
  removeFolder(data);
});

function keepFiles(when: string): void {
  const all = readdirSync(data, { recursive: true, encoding: "utf8" });
  for (const name of all.filter((one) => statSync(join(data, one)).isFile()))
    if (!ALLOWED_FILES.includes(name)) files.push({ what: `${name} ${when}`, bytes: readFileSync(join(data, name)) });
}

/** Creates every kind of secret with every call that shows one. */
async function makeSecrets(): Promise<void> {
  search.addBytes("master key", Buffer.from(readFileSync(join(data, "master.key"), "utf8"), "base64"));
  search.add("admin token", server.adminToken);
  search.add("demo app secret", server.keys.appSecret);
  search.add("demo secret key", server.keys.secretKey.split(":")[1] ?? "");

  const app = await admin.createApp();
  const { secretKey: rotatedSecret } = await admin.must<{ secretKey: string }>(
    "POST",
    `/apps/${app._id}/secret-key/rotate`,
  );
  await admin.must("GET", `/apps/${app._id}/secret-key`);
  const key = await admin.createKey(app._id, { channelPatterns: ["chat/*"], actions: ["publish"] });
  const previous = await admin.createKey(app._id);
  const { secret: current } = await admin.rotate(previous.keyId);
  const retired = await admin.createKey(app._id);
  await admin.rotate(retired.keyId, { graceSec: 0 });
  const revoked = await admin.createKey(app._id);
  await admin.revoke(revoked.keyId);
  const gone = await admin.createApp();
  const orphan = await admin.createKey(gone._id);
  await admin.must("DELETE", `/apps/${gone._id}`);
  const operator = await admin.must<{ _id: string; token: string }>("POST", "/operators", {
    name: "ann",
    role: "read",
  });
  const cookie = (await sessionAt(server.url, operator.token)).split("=")[1] ?? "";
  await admin.must("GET", "/audit");
  await admin.must("GET", "/settings");
  const metadataSecret = `turn-password-${crypto.randomUUID()}`;
  const { body } = await mint(server.url, key.credential, {
    peerId: "alice",
    metadata: { iceServers: [{ credential: metadataSecret }] },
  });
  const own = selfSigned(key.keyId, key.secret, { metadata: { metadataSecret } });
  await admin.check(body.token);
  await admin.check(own);

  const all: [string, string][] = [
    ["app secret", app.secretKey],
    ["rotated app secret", rotatedSecret],
    ["secret key", key.secret],
    ["previous secret", previous.secret],
    ["current secret", current],
    ["retired secret", retired.secret],
    ["revoked secret", revoked.secret],
    ["deleted application's secret", gone.secretKey],
    ["secret of a deleted application's key", orphan.secret],
    ["operator's token", operator.token],
    ["cookie of a session", cookie],
    ["minted token", body.token],
    ["self-signed token", own],
    ["TURN password in a token", metadataSecret],
  ];
  for (const [name, secret] of all) search.add(name, secret);
  misplaced.push(["id and secret", key.credential], ["admin token", server.adminToken]);
  misplaced.push(
    ...all.filter(([name]) =>
      ["app secret", "secret key", "retired secret", "minted token", "operator's token"].includes(name),
    ),
  );
}

/** A call whose response must not contain a secret, whatever was in the request. */
async function ask(what: string, path: string, request: Call = {}): Promise<Answer> {
  const answer = await call(server.url + path, request);
  keep(what, answer);
  return answer;
}

function keep(what: string, { status, text, headers }: Answer): void {
  answers.push({ what, status, text: `${text}\n${[...headers].map((pair) => pair.join(": ")).join("\n")}` });
}

async function askRaw(what: string, request: string): Promise<void> {
  const text = await rawCall(server.url, request);
  answers.push({ what, status: Number(text.slice(9, 12)), text });
}

async function misplaceSecrets(): Promise<void> {
  const control = "/api/internal/v1";
  const bearer = server.adminToken;
  const working = (misplaced.find(([name]) => name === "id and secret") ?? ["", ""])[1];
  for (const [name, secret] of misplaced) {
    const encoded = encodeURIComponent(secret);
    // Paths and query strings.
    for (const path of [
      `/${encoded}`,
      `/v1/${encoded}`,
      `/v1/tokens/${encoded}`,
      `/v1/tokens?key=${encoded}`,
      `/v1?token=${encoded}`,
      `/v1?key=${encoded}`,
      `/v1/peers/${encoded}/send`,
      `/api/v1/recordings?secretKey=${encoded}`,
      `${control}/apps/${encoded}`,
      `${control}/apps/${encoded}/secret-key`,
      `${control}/signalling/keys/${encoded}`,
      `${control}/signalling/keys?app=${encoded}`,
    ]) {
      await ask(`${name} in ${path.replace(encoded, "…")}`, path, { bearer });
      await ask(`${name} in ${path.replace(encoded, "…")}, unauthorized`, path);
    }
    await ask(`${name} in a path, DELETE`, `${control}/signalling/keys/${encoded}`, { method: "DELETE", bearer });
    await ask(`${name} in a path, rotate`, `${control}/signalling/keys/${encoded}/rotate`, { method: "POST", bearer });

    // Headers.
    for (const header of [
      { Authorization: secret },
      { Authorization: `Bearer ${secret}x` },
      { Authorization: `Basic ${btoa(secret)}` },
      { Cookie: `token=${secret}` },
      { Referer: `https://shop.example/?key=${secret}` },
      { "X-Forwarded-For": secret },
      { "X-Request-Id": secret },
      { "User-Agent": secret },
      { [`X-${secret.replaceAll(/[^\w-]/g, "")}`]: "1" },
    ])
      for (const path of ["/v1/tokens", `${control}/apps`, "/metrics", "/nothing"])
        await ask(`${name} in the header ${Object.keys(header)[0]?.slice(0, 3)}`, path, {
          method: "POST",
          headers: header,
        });
    for (const request of [
      `GET /healthz HTTP/1.1\r\nHost: ${secret}\r\n\r\n`,
      `${secret.replaceAll(/\W/g, "")} /healthz HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET /healthz?${encoded} HTTP/1.1\r\nHost: x\r\nX-Long: ${secret}${"x".repeat(220_000)}\r\n\r\n`,
      `GET /healthz?${encoded}${"x".repeat(220_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET /healthz HTTP/1.1\r\nHost: x\r\n${secret}\r\n\r\n`,
      `${secret}\r\n\r\n`,
      `POST /v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Length: x\r\n\r\n`,
    ])
      await askRaw(`${name} in a head that is wrong`, request);

    // Bodies.
    for (const body of [
      secret,
      `{"peerId":"${secret}`,
      { peerId: `${secret}\n` },
      { peerId: secret.padEnd(129, "x") },
      { [secret]: 1 },
      { peerId: "a", expiresInSec: secret },
      { peerId: "a", metadata: secret },
      { peerId: "a", channels: [`${secret}\u0000`] },
      { peerId: "a", permissions: { [secret]: true } },
      `{"peerId":"a","note":"${secret}${"x".repeat(128 * 1024)}"}`,
    ]) {
      await ask(`${name} in a body`, "/v1/tokens", { body, bearer: working });
      await ask(`${name} in a body, unauthorized`, "/v1/tokens", { body, bearer: `${working}x` });
    }
    for (const [method, path, body] of [
      ["POST", "/apps", { name: secret }],
      ["POST", "/apps", { [secret]: secret }],
      ["PATCH", "/apps/demo", { plan: secret }],
      ["PATCH", "/apps/demo", { plan: { name: `${secret}\u0000` } }],
      ["POST", "/signalling/keys", { app: secret, type: "secret", channelPatterns: [], actions: [] }],
      ["POST", "/signalling/keys", { app: "demo", type: secret, channelPatterns: [], actions: [] }],
      ["POST", "/signalling/keys", { app: "demo", type: "secret", channelPatterns: [`${secret}***`], actions: [] }],
      ["POST", "/signalling/keys", { app: "demo", type: "secret", channelPatterns: [], actions: [secret] }],
      ["POST", "/signalling/tokens/check", { token: secret.slice(0, -1) }],
      ["POST", "/signalling/tokens/check", { token: { [secret]: secret } }],
      ["PUT", "/apps", { secret }],
    ] as const)
      await ask(`${name} in a body of ${path}`, control + path, { method, body, bearer });
  }
}

/** Makes changes until one cannot be written. */
async function fillDisk(): Promise<void> {
  const key = await admin.createKey("demo");
  search.add("secret of the full disk", key.secret);
  for (let i = 0; i < 2000; i++) {
    const patch = { label: "x".repeat(100), channelPatterns: Array(100).fill("y".repeat(256)) };
    const edited = await admin.call("PATCH", `/signalling/keys/${key.keyId}`, patch);
    if (edited.status === 200) continue;
    keep("edit on a full disk", edited as Answer);
    keep("rotate on a full disk", (await admin.call("POST", `/signalling/keys/${key.keyId}/rotate`, {})) as Answer);
    keep("create on a full disk", (await admin.call("POST", "/apps", { name: "one-more" })) as Answer);
    return;
  }
}

/** Afterwards the control plane refuses this address: its wrong admin tokens have used up the attempts. */
async function exhaustRates(): Promise<void> {
  const [, working] = misplaced.find(([name]) => name === "id and secret") ?? [];
  await Promise.all(
    Array.from({ length: 600 }, async () => {
      const answer = await mint(server.url, working ?? "");
      if (answer.status === 200) search.add("minted under load", answer.body.token);
      else keep("mint over the rate", answer as unknown as Answer);
    }),
  );
  await Promise.all(
    misplaced
      .flatMap((one) => [one, one, one])
      .map(([name, secret]) => ask(`${name} as admin token`, "/api/internal/v1/apps", { bearer: `${secret}!` })),
  );
}

describe("the run", () => {
  test("created many secrets and got every kind of refusal", () => {
    expect(search.size).toBeGreaterThan(16);
    const statuses = new Set(answers.map((answer) => answer.status));
    for (const status of [400, 401, 404, 405, 413, 429, 431, 500])
      expect({ status, provoked: statuses.has(status) }).toEqual({ status, provoked: true });
    expect(log).toContain('"level":"debug"');
    expect(log.split("\n").length).toBeGreaterThan(1000);
  });
});

describe("no secret as plain text", () => {
  test("in the log at level debug", () => {
    expect(search.in(log)).toEqual([]);
  });

  test("in the metrics", () => {
    expect(metrics).toContain("parley_http_requests_total");
    expect(search.in(metrics)).toEqual([]);
  });

  test("in the body or headers of any response whose purpose is not to show one", () => {
    expect(answers.length).toBeGreaterThan(300);
    const leaks = answers.flatMap(({ what, status, text }) => {
      const found = search.in(text);
      return found.length > 0 ? [`${status} to ${what}: ${found.join(", ")}`] : [];
    });
    expect(leaks).toEqual([]);
  });

  test("in any file of the data folder, while it runs and afterwards, nor in a backup", () => {
    const names = files.map((file) => file.what);
    for (const name of [
      "parley.sqlite while running",
      "parley.sqlite-wal while running",
      "parley.sqlite after the end",
    ])
      expect(names).toContain(name);
    expect(names).toContain("backup.parley with the backup");
    for (const { what, bytes } of files) expect({ what, leaks: search.in(bytes) }).toEqual({ what, leaks: [] });
  });
});

/** Values that an error could repeat; naming the field is enough. */
describe("a refusal names the field, not the value", () => {
  let own: Server;
  beforeAll(async () => {
    own = await startParley();
  });
  afterAll(() => own.stop());

  test.each<[string, (secret: string) => unknown]>([
    ["a channel outside the key's patterns", (secret) => ({ peerId: "a", channels: [secret] })],
    ["a permission that is none", (secret) => ({ peerId: "a", permissions: [secret] })],
    ["a key that occurs twice", (secret) => `{"peerId":"a","${secret}":1,"${secret}":2}`],
  ])("%s", async (_name, body) => {
    const key = await own.admin.createKey("demo", { channelPatterns: ["chat/*"], actions: ["publish"] });
    const mine = new SecretSearch();
    mine.add("secret", key.secret);
    const { status, text } = await mint(own.url, key.credential, body(key.secret));
    expect([400, 403]).toContain(status);
    expect(mine.in(text)).toEqual([]);
  });
});

test("the search finds the run's secrets in the files that may hold them", () => {
  const firstRun = search.in(readFileSync(join(data, "first-run.txt"))).join();
  for (const name of ["admin token", "demo app secret", "demo secret key"]) expect(firstRun).toContain(name);
  expect(existsSync(join(data, "master.key"))).toBe(true);
  expect(search.in(readFileSync(join(data, "master.key"))).join()).toContain("master key");
});
