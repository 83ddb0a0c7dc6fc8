/** `parley doctor` against real servers, and its checks against evidence that a test cannot set up. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../../config/load.ts";
import type { NodeFacts } from "../../../node/status/facts.ts";
import { databaseAddress, factsOf, natsAddress, storageOf } from "../../../node/status/facts.ts";
import { parley, startServer, withServer } from "../../testing/kit.ts";
import type { BackupEvidence } from "./backups.ts";
import { CHECKS, examine, examineWithoutServer } from "./checks.ts";
import type { Evidence } from "./evidence.ts";
import type { Finding, Verdict } from "./findings.ts";
import { silentTurnServers } from "./turn.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { folder } = cli;

interface Report {
  readonly passed: boolean;
  readonly node: { id: string; version: string };
  readonly findings: readonly Finding[];
}

async function doctor(...more: string[]): Promise<{ report: Report; exitCode: number; stdout: string }> {
  const { stdout, stderr, exitCode } = await parley(["doctor", "--json", ...more], { env: cli.server.env });
  if (stdout === "") throw new Error(stderr);
  return { report: JSON.parse(stdout) as Report, exitCode, stdout };
}
const verdictOf = ({ findings }: Report, check: string): Verdict | undefined =>
  findings.find((one) => one.check === check)?.verdict;

describe("against a first start", () => {
  test("each finding says what to do, and the exit code is 1 if one is serious", async () => {
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

  test("the text has the worst findings first, and no secret", async () => {
    const { stdout, stderr } = await parley(["doctor"], { env: cli.server.env });
    expect(stdout).toMatch(/^attention +backup +no schedule is set, and no backup was made in the last 7 days\n/m);
    expect(stdout).toMatch(
      /^attention +demo +the application demo exists.*\n +-> delete it: "parley apps delete demo"$/m,
    );
    expect(stdout.indexOf("attention ")).toBeLessThan(stdout.indexOf("\nok "));
    expect(stderr).toMatch(/^Checked the node \w+, version /);
    for (const secret of [cli.server.adminToken, ...cli.server.secretKey.split(":")])
      expect(stdout).not.toContain(secret);
  });

  test("commands are written as the program was called, and lead to the same server", async () => {
    const { PARLEY_URL: url = "", ...env } = cli.server.env;
    for (const json of [[], ["--json"]]) {
      const { stdout } = await parley(["doctor", "--url", url, ...json], {
        env: { ...env, PARLEY_PROGRAM: "bin/parley" },
      });
      expect(stdout).toContain(`bin/parley apps delete demo --url ${url}`);
      expect(stdout).toContain("bin/parley backup FILE");
      expect(stdout).not.toMatch(/(?<!bin\/)parley [a-z]/);
    }
    const direct = {
      PARLEY_PROGRAM: "bin/parley",
      PARLEY_NATS_URL: "nats://127.0.0.1:1",
      PARLEY_URL: "http://127.0.0.1:1",
    };
    const down = await parley(["doctor"], { env: { ...env, ...direct } });
    expect(down.stdout).toContain('start one with "bin/parley up"');
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === "IPv4");
  test.skipIf(!outside)("through a public address it sees what unauthenticated clients see", async () => {
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

  test("a wrong token and an unreachable server are reported as in other commands", async () => {
    const wrong = await parley(["doctor"], { env: { ...cli.server.env, PARLEY_ADMIN_TOKEN: "not-the-right-token" } });
    expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("belongs to another server")]);
    const unreachable = await parley(["doctor", "--url", "http://127.0.0.1:1"], { env: cli.server.env });
    expect([unreachable.exitCode, unreachable.stderr]).toEqual([1, expect.stringContaining("cannot reach a server")]);
    const url = await parley(["doctor", "--public-url", "realtime.example.com"], { env: cli.server.env });
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
  turnUrls: ["turn:turn.example.com:3478"],
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
const HEALTHY = {
  store: "ok",
  writes: "ok",
  recordings: "ok",
  mending: "ok",
  history: "ok",
  nats: "ok",
  files: "ok",
};
const GOOD_BACKUPS: BackupEvidence = {
  askedAt: 1_900_000_000,
  target: { kind: "bucket", isInDataFolder: false },
  everySeconds: 86_400,
  isEncrypted: true,
  hasRecordings: true,
  hasDatabase: true,
  lastSuccess: { at: 1_900_000_000 - 3600 },
  lastSent: null,
  problem: null,
};
const GOOD: Evidence = {
  publicUrl: new URL("https://realtime.example.com"),
  isOutside: true,
  facts: GOOD_FACTS,
  hasDemo: false,
  openKeys: [],
  backups: GOOD_BACKUPS,
  adminTokenChars: 64,
  health: HEALTHY,
  direct: {},
  ready: { status: 200, wrong: [] },
  metrics: 401,
  control: 404,
  silentTurn: [],
  clockAheadSeconds: 0,
};
const found = (evidence: Partial<Evidence>, facts: Partial<NodeFacts> = {}): Record<string, Verdict> =>
  Object.fromEntries(
    examine({ ...GOOD, ...evidence, facts: { ...GOOD_FACTS, ...facts } }).map(({ check, verdict }) => [check, verdict]),
  );

test("a service that is set up well has only findings that cannot be checked from outside", () => {
  const left = Object.entries(found({})).filter(([, verdict]) => verdict !== "ok");
  expect(Object.fromEntries(left)).toEqual({ "master key": "unchecked", stopping: "unchecked" });
});

const DAY_SECONDS = 86_400;

test.each<[string, Verdict, RegExp, Partial<BackupEvidence>]>([
  ["scheduled and encrypted", "ok", /every 1 d, the last one 1 h ago, encrypted$/, {}],
  ["scheduled, and the first one is not made yet", "ok", /none yet/, { lastSuccess: null }],
  ["neither scheduled nor ever made", "attention", /no schedule is set/, { everySeconds: null, lastSuccess: null }],
  [
    "by hand, long ago",
    "attention",
    /last 7 days/,
    { everySeconds: null, lastSuccess: null, lastSent: GOOD_BACKUPS.askedAt - 8 * DAY_SECONDS },
  ],
  [
    "by hand, lately",
    "ok",
    /by hand, the last one 6 d ago/,
    { everySeconds: null, target: null, lastSuccess: null, lastSent: GOOD_BACKUPS.askedAt - 6 * DAY_SECONDS },
  ],
  ["in a bucket in clear", "attention", /unencrypted/, { isEncrypted: false }],
  [
    "in a folder in clear",
    "ok",
    /not encrypted/,
    { isEncrypted: false, target: { kind: "folder", isInDataFolder: false } },
  ],
  ["beside what they copy", "attention", /data folder/, { target: { kind: "folder", isInDataFolder: true } }],
  ["that cannot be listed", "attention", /cannot be listed: it is gone/, { problem: "it is gone" }],
  ["without PostgreSQL", "unchecked", /they do not include PostgreSQL/, { hasDatabase: false }],
])("backups: %s", (_, verdict, text, backups) => {
  const findings = examine({ ...GOOD, backups: { ...GOOD_BACKUPS, ...backups } });
  const { verdict: found, found: said } = findings.find(({ check }) => check === "backup") ?? {};
  expect([found, said]).toEqual([verdict, expect.stringMatching(text)]);
});

test("backups that fail at the moment count, however they are set up", () => {
  const health = { ...HEALTHY, backups: "the last backup failed" };
  expect(found({ health }).backup).toBe("attention");
});

test.each<[string, Verdict, string, Partial<Evidence>, Partial<NodeFacts>]>([
  ["no TLS at a public address", "serious", "TLS", { publicUrl: new URL("http://a.example") }, {}],
  ["a proxy that is not trusted", "serious", "trusted proxies", {}, { trustedProxies: 0 }],
  ["TLS without a proxy", "unchecked", "trusted proxies", {}, { trustedProxies: 0, hasTls: true }],
  ["a public address that the node does not know", "attention", "public address", {}, { publicUrls: [] }],
  ["no public address that is set", "unchecked", "public address", { isOutside: false }, { publicUrls: [] }],
  ["an unready node", "serious", "ready", { ready: { status: 503, wrong: ["store: unreachable"] } }, {}],
  ["a node that does not answer", "unchecked", "ready", { ready: { status: undefined, wrong: [] } }, {}],
  ["public metrics", "serious", "metrics", { metrics: 200 }, {}],
  ["a short admin token", "attention", "admin token", { adminTokenChars: 20 }, {}],
  ["a run with an operator's token", "unchecked", "admin token", { adminTokenChars: undefined }, {}],
  [
    "a control plane at the address of clients",
    "attention",
    "control plane",
    { control: 401 },
    { hasAdminListener: false },
  ],
  ["a public demo", "serious", "demo", { hasDemo: true }, {}],
  ["a key for every origin", "attention", "open keys", { openKeys: [{ keyId: "pk_live_1", app: "shop" }] }, {}],
  ["keys on disk", "attention", "first-run.txt", {}, { hasFirstRunFile: true }],
  ["a master key that does not fit", "serious", "master key", {}, { sealedKeys: 2 }],
  ["PostgreSQL without TLS", "attention", "database", {}, { database: databaseAddress("postgres://a:b@db/x") }],
  ["NATS without credentials", "serious", "NATS", {}, { nats: natsAddress("nats://a:4222,b:4222") }],
  ["NATS without TLS", "attention", "NATS", {}, { nats: natsAddress("nats://u:p@a:4222") }],
  ["local NATS", "ok", "NATS", {}, { nats: natsAddress("nats://127.0.0.1:4222") }],
  [
    "a bucket without TLS",
    "attention",
    "recordings storage",
    {},
    { storage: storageOf("s3://b?endpoint=http://x", {}) },
  ],
  ["few open files", "serious", "open files", {}, { openFilesLimit: 1024 }],
  ["a moderate number of open files", "attention", "open files", {}, { openFilesLimit: 8192 }],
  ["a rate that is off", "attention", "rates", {}, { framesPerSecond: 0 }],
  ["root", "attention", "user", {}, { isRoot: true }],
  ["a silent TURN server", "attention", "TURN", { silentTurn: ["turn:a"] }, {}],
  ["no TURN server", "unchecked", "TURN", {}, { turnUrls: [] }],
  ["a clock that is ahead", "attention", "clock", { clockAheadSeconds: 60 }, {}],
  ["a clock that is behind", "attention", "clock", { clockAheadSeconds: -60 }, {}],
  ["a node that does not say its time", "unchecked", "clock", { clockAheadSeconds: undefined }, {}],
  ["a degraded node", "attention", "ready", { ready: { status: 200, wrong: ["nats: unreachable"] } }, {}],
  ["unreachable NATS", "serious", "NATS", { health: { ...HEALTHY, nats: "unreachable" } }, {}],
  ["an unreachable store", "serious", "database", { health: { ...HEALTHY, store: "no answer" } }, {}],
  ["a store that is full", "serious", "database", { health: { ...HEALTHY, writes: "is full" } }, {}],
  ["missing storage", "serious", "recordings storage", { health: { ...HEALTHY, recordings: "missing" } }, {}],
  ["mending that fails", "attention", "mending", { health: { ...HEALTHY, mending: "fails" } }, {}],
  ["history that cannot be stored", "serious", "history", { health: { ...HEALTHY, history: "no" } }, {}],
  ["an expired certificate", "serious", "TLS", { health: { ...HEALTHY, certificate: "expired" } }, {}],
  ["files that run out", "serious", "open files", { health: { ...HEALTHY, files: "990 of 1000" } }, {}],
  ["an older server, about mending,", "unchecked", "mending", { health: { store: "ok" } }, {}],
  ["a node without /readyz", "unchecked", "history", { health: undefined }, {}],
  ["NATS that only the node reaches", "attention", "NATS", { direct: { nats: "connection refused" } }, {}],
  ["keys that could not be read", "unchecked", "open keys", { openKeys: undefined }, {}],
  ["applications that could not be read", "unchecked", "demo", { hasDemo: undefined }, {}],
])("%s is %s", (_name, verdict, check, evidence, facts) => {
  expect(found(evidence, facts)[check]).toBe(verdict);
});

test("what is wrong at the moment is said as the server says it, with what doctor found itself", () => {
  const health = { ...HEALTHY, nats: "NATS is unreachable", recordings: "the storage does not answer" };
  const findings = examine({ ...GOOD, health, direct: { nats: "connection refused", storage: "ok" } });
  const foundBy = (check: string): string | undefined => findings.find((one) => one.check === check)?.found;
  expect(foundBy("NATS")).toBe("NATS is unreachable. From this machine: connection refused");
  expect(foundBy("recordings storage")).toBe("the storage does not answer. From this machine it answers");
});

test("without a server, what doctor tried itself is reported", () => {
  const findings = examineWithoutServer("cannot reach a server", { nats: "connection refused", database: "ok" });
  expect(findings.map(({ check, verdict }) => [check, verdict])).toEqual([
    ["ready", "serious"],
    ["NATS", "serious"],
  ]);
  for (const { todo } of findings) expect(todo).toBeString();
});

test("a server that is too old to answer leaves its checks open", () => {
  const verdicts = examine({ ...GOOD, facts: undefined }).map(({ verdict }) => verdict);
  expect(verdicts.filter((verdict) => verdict === "unchecked").length).toBeGreaterThan(10);
  expect(verdicts).not.toContain("serious");
});

test("what a node reports about itself contains no part of a secret", () => {
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
] as const)("the address of a database is described: %s", (url, link) => {
  expect(databaseAddress(url)).toEqual(link);
});

test("STUN servers that do not answer are found, over UDP and TCP", async () => {
  const udp = await Bun.udpSocket({
    hostname: "127.0.0.1",
    socket: {
      data(socket, request, port, address) {
        // A binding success response, without its attributes.
        const answer = Buffer.from(request.subarray(0, 20));
        answer.writeUInt16BE(0x0101, 0);
        socket.send(answer, port, address);
      },
    },
  });
  using tcp = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  const answering = [
    `stun:127.0.0.1:${udp.port}`,
    `turn:127.0.0.1:${tcp.port}?transport=tcp`,
    `turns:127.0.0.1:${tcp.port}`,
  ];
  const silent = ["turn:127.0.0.1:1?transport=udp", "turns:127.0.0.1:1"];
  expect(await silentTurnServers([...answering, ...silent])).toEqual(silent);
  udp.close();
});
