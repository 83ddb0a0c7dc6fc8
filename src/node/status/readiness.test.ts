import { expect, test } from "bun:test";
import { readyResponse } from "../../http/server/operations.ts";
import { StoreReadOnly } from "../../store/contract/store.ts";
import { type OwnCheckParts, ownChecks, reportTo } from "./own-checks.ts";
import { type ReadinessParts, readyChecks } from "./readiness.ts";

const WELL: OwnCheckParts = {
  isNatsUp: undefined,
  unheardWorkers: undefined,
  notUnderstood: undefined,
  isHistoryUp: () => true,
  mendings: () => "ok",
  certificate: () => undefined,
  openFiles: () => 20,
  openFilesLimit: 1000,
  isFull: () => false,
  nowMs: () => Date.UTC(2026, 5, 1),
};

function setup(parts: Partial<ReadinessParts> = {}, own: Partial<OwnCheckParts> = {}) {
  const counted = { reads: 0, trials: 0, failures: 0 };
  const state = { nowMs: 0, isReachable: true, isWritable: true, isDraining: false, usable: 1, sealed: 0 };
  const checks = readyChecks({
    store: {
      revisions: async () => {
        counted.reads++;
        if (!state.isReachable) throw new Error("unreachable");
        return { keys: 1, blocks: 1 };
      },
      tryWrite: async () => {
        counted.trials++;
        if (!state.isWritable) throw new Error("database or disk is full");
      },
    },
    keyring: {
      get secretKeys() {
        return { usable: state.usable, sealed: state.sealed };
      },
    },
    isFollowing: () => true,
    isDraining: () => state.isDraining,
    recordings: async () => "ok",
    canMend: async () => true,
    backups: () => undefined,
    ownChecks: ownChecks({ ...WELL, ...own }),
    monotonicMs: () => state.nowMs,
    failed: () => counted.failures++,
    ...parts,
  });
  const ask = async () => {
    const response = await readyResponse(checks);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { counted, state, ask };
}

const GOOD = {
  store: "ok",
  writes: "ok",
  keys: "ok",
  recordings: "ok",
  mending: "ok",
  history: "ok",
  files: "ok",
  shutdown: "ok",
};

test("a node whose checks all pass is ready", async () => {
  expect(await setup().ask()).toEqual({ status: 200, body: { ready: true, degraded: [], checks: GOOD } });
});

test("a node whose store of histories does not answer is ready, and says so", async () => {
  const history = "the history store is not responding: channels with history refuse messages";
  expect(await setup({}, { isHistoryUp: () => false }).ask()).toEqual({
    status: 200,
    body: { ready: true, degraded: ["history"], checks: { ...GOOD, history } },
  });
});

test("a node whose store cannot be written to is not ready, says so, and is ready again when it can", async () => {
  const { counted, state, ask } = setup();
  state.isWritable = false;
  const writes = "the store cannot be written to; is the disk full?";
  expect(await ask()).toEqual({ status: 503, body: { ready: false, degraded: [], checks: { ...GOOD, writes } } });
  // The cause goes to the log only.
  expect(counted.failures).toBe(1);
  state.isWritable = true;
  state.nowMs += 1000;
  expect((await ask()).status).toBe(200);
});

test("a node whose store does not answer is not ready, and makes no trial write", async () => {
  const { counted, state, ask } = setup();
  state.isReachable = false;
  const store = "the store is not responding";
  expect(await ask()).toEqual({ status: 503, body: { ready: false, degraded: [], checks: { ...GOOD, store } } });
  expect(counted.trials).toBe(0);
});

test("a node whose store takes no changes is not ready, and says why", async () => {
  const revisions = (): Promise<never> => Promise.reject(new StoreReadOnly("a standby at 10.0.0.9"));
  const { counted, ask } = setup({ store: { revisions, tryWrite: revisions } });
  const store = "the store refuses changes: it is read-only, or a standby";
  expect(await ask()).toEqual({ status: 503, body: { ready: false, degraded: [], checks: { ...GOOD, store } } });
  expect(counted.trials).toBe(0);
});

test("some sealed keys: degraded; only sealed keys: not ready", async () => {
  const { state, ask } = setup();
  Object.assign(state, { usable: 3, sealed: 2 });
  const keys = "the master key cannot decrypt 2 of 5 secret keys: they answer 503";
  expect(await ask()).toEqual({ status: 200, body: { ready: true, degraded: ["keys"], checks: { ...GOOD, keys } } });
  Object.assign(state, { nowMs: 10_000, usable: 0 });
  expect(await ask()).toMatchObject({ status: 503, body: { ready: false, degraded: [] } });
});

test.each(["full", "missing", "unwritable", "unreachable"] as const)(
  "a node whose storage of recordings is %s is degraded",
  async (state) => {
    const { status, body } = await setup({ recordings: async () => state }).ask();
    expect([status, body.ready, body.degraded]).toEqual([200, true, ["recordings"]]);
  },
);

const CERTIFICATE = { startsMs: Date.UTC(2026, 0, 1), expiresMs: Date.UTC(2027, 0, 1), isReloadFailed: false };

test.each<[string, string, string, Partial<OwnCheckParts>]>([
  ["a worker does not hear another one", "bus", "workers cannot reach each other", { unheardWorkers: () => 1 }],
  [
    "another node cannot be understood",
    "versions",
    "node b (Parley 0.3.0) and 1 more cannot be understood",
    { notUnderstood: () => ["node b (Parley 0.3.0)", "node c (Parley 0.3.0)"] },
  ],
  ["NATS is unreachable", "nats", "NATS is unreachable", { isNatsUp: () => false }],
  ["the last recordings were not mended", "mending", "could not be mended", { mendings: () => "failing" }],
  ["finished recordings wait", "mending", "could not be listed yet", { mendings: () => "waiting" }],
  [
    "the certificate has expired",
    "certificate",
    "expired on 2026-05-31",
    { certificate: () => ({ ...CERTIFICATE, expiresMs: Date.UTC(2026, 4, 31) }) },
  ],
  [
    "the certificate is not valid yet",
    "certificate",
    "is not valid yet",
    { certificate: () => ({ ...CERTIFICATE, startsMs: Date.UTC(2026, 6, 1) }) },
  ],
  [
    "a new certificate could not be loaded",
    "certificate",
    "the old one is used, until 2027-01-01",
    { certificate: () => ({ ...CERTIFICATE, isReloadFailed: true }) },
  ],
  ["almost all files are open", "files", "901 of 1000 files are open", { openFiles: () => 901 }],
  ["connects are refused", "files", "new connections are refused", { openFiles: () => 880, isFull: () => true }],
])("%s: the node is ready and degraded", async (_, check, text, own) => {
  const { status, body } = await setup({}, own).ask();
  expect([status, body.ready, body.degraded]).toEqual([200, true, [check]]);
  expect(body.checks).toMatchObject({ [check]: expect.stringContaining(text) });
});

test("a node with NATS and a certificate that are fine says so", async () => {
  const { body } = await setup({}, { isNatsUp: () => true, certificate: () => CERTIFICATE }).ask();
  expect(body.checks).toEqual({ ...GOOD, nats: "ok", certificate: "ok" });
});

test("a node that cannot mend recordings is degraded", async () => {
  const { status, body } = await setup({ canMend: async () => false }).ask();
  expect([status, body.degraded]).toEqual([200, ["mending"]]);
});

test("what another worker reports counts, unless this one has its own finding", async () => {
  const reports = { nats: "theirs", history: "theirs" };
  const team = { state: { ready: 2, count: 2, isStopping: false, lead: 0, reports } };
  const { body } = await setup({ team }, { isNatsUp: () => true, isHistoryUp: () => false }).ask();
  expect(body.degraded).toEqual(["nats", "history"]);
  expect(body.checks).toMatchObject({ nats: "theirs", history: expect.stringContaining("is not responding") });
});

test("a worker reports what does not work in it, once for each change", async () => {
  let isUp = true;
  const reported: object[] = [];
  const team = { report: (found: object) => void reported.push(found) };
  const reporting = reportTo(team, ownChecks({ ...WELL, isNatsUp: () => isUp }), () => undefined);
  const run = async (): Promise<void> => {
    reporting.runNow();
    await reporting.stop();
  };
  await run();
  isUp = false;
  await run();
  await run();
  isUp = true;
  await run();
  expect(reported).toEqual([{ nats: expect.stringContaining("NATS is unreachable") }, {}]);
});

test.each([
  ["ok", "ok"],
  ["failed", "the last backup failed; trying again. The log says why"],
  ["late", "no backup has succeeded for twice the scheduled interval"],
] as const)("scheduled backups that are %s", async (health, text) => {
  const { status, body } = await setup({ backups: () => health }).ask();
  expect([status, body.degraded]).toEqual([200, health === "ok" ? [] : ["backups"]]);
  expect(body.checks).toMatchObject({ backups: text });
});

test("a shutdown is shown immediately, even if the other results are cached", async () => {
  const { state, ask } = setup();
  expect((await ask()).status).toBe(200);
  state.isDraining = true;
  expect(await ask()).toMatchObject({ status: 503, body: { checks: { shutdown: "this node is shutting down" } } });
});

test("however many requests come, the store is read at most twice a second and written to every five seconds", async () => {
  const { counted, state, ask } = setup();
  for (let step = 0; step < 100; step++) {
    await Promise.all(Array.from({ length: 20 }, ask));
    state.nowMs += 100;
  }
  expect(counted.reads).toBeLessThanOrEqual(20);
  expect(counted.trials).toBeLessThanOrEqual(2);
});
