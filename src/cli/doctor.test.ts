/** `parley doctor` against servers that are set up well and badly, and its checks against evidence that no test can set up. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../config/load.ts";
import type { NodeFacts } from "../node/facts.ts";
import { databaseLink, factsOf, natsLink, storageOf } from "../node/facts.ts";
import { CHECKS, examine, type Finding, type Verdict } from "./doctor-checks.ts";
import type { Evidence } from "./doctor-evidence.ts";
import { parley, startServer, type TestServer, temporaryFolder } from "./testing/kit.ts";

setDefaultTimeout(60_000);

const folder = temporaryFolder();
let server: TestServer;
beforeAll(async () => {
  server = await startServer(join(folder, "data"));
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Report {
  readonly passed: boolean;
  readonly node: { id: string; version: string };
  readonly findings: readonly Finding[];
}

async function doctor(...more: string[]): Promise<{ report: Report; exitCode: number; stdout: string }> {
  const { stdout, stderr, exitCode } = await parley(["doctor", "--json", ...more], { env: server.env });
  if (stdout === "") throw new Error(stderr);
  return { report: JSON.parse(stdout) as Report, exitCode, stdout };
}
const verdictOf = ({ findings }: Report, check: string): Verdict | undefined =>
  findings.find((one) => one.check === check)?.verdict;

describe("against a first start", () => {
  test("says what is left open, with something to do about each; the exit code follows what is serious", async () => {
    const { report, exitCode } = await doctor();
    expect(report.findings.map(({ check }) => check).toSorted()).toEqual([...CHECKS].toSorted());
    for (const { verdict, todo } of report.findings) expect(todo !== undefined).toBe(verdict !== "ok");
    expect(verdictOf(report, "ready")).toBe("ok");
    expect(verdictOf(report, "demo")).toBe("attention");
    expect(verdictOf(report, "first-run.txt")).toBe("attention");
    expect(verdictOf(report, "metrics")).toBe("unchecked");
    const isSerious = report.findings.some(({ verdict }) => verdict === "serious");
    expect([report.passed, exitCode]).toEqual([!isSerious, isSerious ? 1 : 0]);
  });

  test("prints the same for people, the worst first, and no secret", async () => {
    const { stdout, stderr } = await parley(["doctor"], { env: server.env });
    expect(stdout).toMatch(/^attention +demo +the application demo is there.*\n +-> parley apps delete demo$/m);
    expect(stdout.indexOf("attention ")).toBeLessThan(stdout.indexOf("\nok "));
    expect(stderr).toMatch(/^Asked the node \w+, version /);
    for (const secret of [server.adminToken, ...server.secretKey.split(":")]) expect(stdout).not.toContain(secret);
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === "IPv4");
  test.skipIf(!outside)("by a public address it sees what strangers see", async () => {
    const open = await startServer(join(folder, "open"), [], "0.0.0.0");
    try {
      const url = `http://${outside?.address}:${new URL(open.url).port}`;
      const args = ["doctor", "--json", "--public-url", url];
      const { stdout, exitCode } = await parley(args, { env: open.env });
      const report = JSON.parse(stdout) as Report;
      expect(exitCode).toBe(1);
      expect(verdictOf(report, "TLS")).toBe("serious");
      expect(verdictOf(report, "demo")).toBe("serious");
      expect(verdictOf(report, "metrics")).toBe("ok");
      expect(verdictOf(report, "control plane")).toBe("attention");
    } finally {
      await open.stop();
    }
  });

  test("a wrong token and a server that is not there end as in every other command", async () => {
    const wrong = await parley(["doctor"], { env: { ...server.env, PARLEY_ADMIN_TOKEN: "not-the-right-token" } });
    expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("is not this server's")]);
    const away = await parley(["doctor", "--url", "http://127.0.0.1:1"], { env: server.env });
    expect([away.exitCode, away.stderr]).toEqual([1, expect.stringContaining("no server can be reached")]);
    const url = await parley(["doctor", "--public-url", "realtime.example.com"], { env: server.env });
    expect([url.exitCode, url.stderr]).toEqual([2, expect.stringContaining("--public-url must be an address")]);
  });
});

const GOOD_FACTS: NodeFacts = {
  nodeId: "a",
  version: "1",
  host: "0.0.0.0",
  hasTls: false,
  hasAdminListener: true,
  publicUrls: ["https://realtime.example.com"],
  trustedProxies: 1,
  openFilesLimit: 1_048_576,
  isRoot: false,
  database: { isLocal: false, tls: "verified", hasCredentials: true },
  nats: { isLocal: false, tls: "verified", hasCredentials: true },
  storage: { kind: "s3", isEncrypted: true },
  masterKey: "setting",
  adminToken: "setting",
  hasFirstRunFile: false,
  sealedKeys: 0,
  drainSeconds: 10,
  connectsPerMinutePerIp: 600,
  httpRequestsPerMinutePerIp: 600,
  framesPerSecond: 100,
  restRequestsPerSecond: 100,
};
const GOOD: Evidence = {
  publicUrl: new URL("https://realtime.example.com"),
  isOutside: true,
  facts: GOOD_FACTS,
  hasDemo: false,
  openKeys: [],
  adminTokenChars: 64,
  ready: { status: 200, wrong: [] },
  metrics: 401,
  control: 404,
};
const found = (evidence: Partial<Evidence>, facts: Partial<NodeFacts> = {}): Record<string, Verdict> =>
  Object.fromEntries(
    examine({ ...GOOD, ...evidence, facts: { ...GOOD_FACTS, ...facts } }).map(({ check, verdict }) => [check, verdict]),
  );

test("a service that is set up well has only what nobody can check from outside", () => {
  const left = Object.entries(found({})).filter(([, verdict]) => verdict !== "ok");
  expect(Object.fromEntries(left)).toEqual({ "master key": "unchecked", backup: "unchecked", stopping: "unchecked" });
});

test.each<[string, Verdict, string, Partial<Evidence>, Partial<NodeFacts>]>([
  ["no TLS at a public address", "serious", "TLS", { publicUrl: new URL("http://a.example") }, {}],
  ["a proxy nobody trusts", "serious", "trusted proxies", {}, { trustedProxies: 0 }],
  ["TLS of its own needs no proxy", "unchecked", "trusted proxies", {}, { trustedProxies: 0, hasTls: true }],
  ["a public address that the node does not know", "attention", "public address", {}, { publicUrls: [] }],
  ["no public address", "unchecked", "public address", { isOutside: false }, { publicUrls: [] }],
  ["an unready node", "serious", "ready", { ready: { status: 503, wrong: ["store: away"] } }, {}],
  ["a node that cannot be asked", "unchecked", "ready", { ready: { status: undefined, wrong: [] } }, {}],
  ["metrics for everybody", "serious", "metrics", { metrics: 200 }, {}],
  ["a short admin token", "attention", "admin token", { adminTokenChars: 20 }, {}],
  ["a control plane beside clients", "attention", "control plane", { control: 401 }, { hasAdminListener: false }],
  ["the demo in public", "serious", "demo", { hasDemo: true }, {}],
  ["a key for every page", "attention", "open keys", { openKeys: [{ keyId: "pk_live_1", app: "shop" }] }, {}],
  ["keys on disk", "attention", "first-run.txt", {}, { hasFirstRunFile: true }],
  ["a master key that does not fit", "serious", "master key", {}, { sealedKeys: 2 }],
  ["PostgreSQL in clear", "attention", "database", {}, { database: databaseLink("postgres://a:b@db/x") }],
  ["NATS for everybody", "serious", "NATS", {}, { nats: natsLink("nats://a:4222,b:4222") }],
  ["NATS in clear", "attention", "NATS", {}, { nats: natsLink("nats://u:p@a:4222") }],
  ["NATS here", "ok", "NATS", {}, { nats: natsLink("nats://127.0.0.1:4222") }],
  ["a bucket in clear", "attention", "recordings storage", {}, { storage: storageOf("s3://b?endpoint=http://x", {}) }],
  ["few open files", "serious", "open files", {}, { openFilesLimit: 1024 }],
  ["not many open files", "attention", "open files", {}, { openFilesLimit: 8192 }],
  ["a rate that is off", "attention", "rates", {}, { framesPerSecond: 0 }],
  ["root", "attention", "user", {}, { isRoot: true }],
])("%s is %s", (_name, verdict, check, evidence, facts) => {
  expect(found(evidence, facts)[check]).toBe(verdict);
});

test("a server that does not know the question leaves its checks open", () => {
  const verdicts = examine({ ...GOOD, facts: undefined }).map(({ verdict }) => verdict);
  expect(verdicts.filter((verdict) => verdict === "unchecked").length).toBeGreaterThan(10);
  expect(verdicts).not.toContain("serious");
});

test("what a node tells about itself holds no part of a secret", () => {
  const masterKey = Buffer.alloc(32, "hush").toString("base64");
  const { config } = loadConfig(new Map(), {
    PARLEY_ADMIN_TOKEN: "hush-hush-hush-hush",
    PARLEY_MASTER_KEY: masterKey,
    PARLEY_DATABASE_URL: "postgres://hush-user:hush-password@hush-host/hush",
    PARLEY_NATS_URL: "nats://hush-user:hush-password@hush-host:4222",
    PARLEY_STORAGE_URL: "s3://HUSH:hush@hush-bucket?endpoint=https://hush.example.com",
  });
  const facts = JSON.stringify(factsOf({ config, nodeId: "a", host: "::", sealedKeys: () => 0 })());
  expect(facts).not.toMatch(/hush/i);
  expect(facts).not.toContain(masterKey);
});

test.each([
  ["postgres://u:p@127.0.0.1/x", { isLocal: true, tls: "off", hasCredentials: true }],
  ["postgres://u:p@db/x?sslmode=require", { isLocal: false, tls: "unverified", hasCredentials: true }],
  ["postgres://u@db/x?sslmode=verify-full", { isLocal: false, tls: "verified", hasCredentials: false }],
] as const)("what a database's address says: %s", (url, link) => {
  expect(databaseLink(url)).toEqual(link);
});
