/** A full disk: a change that cannot be stored is refused, and does not take effect. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mint } from "../support/admin.ts";
import { call, type Json } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";

setDefaultTimeout(60_000);

test("a change that cannot be written fails completely; existing state keeps working, also after a restart", async () => {
  using folder = scratch();
  const data = folder.path;
  const env = { PARLEY_REST_REQUESTS_PER_SECOND: "0" };
  // No file may grow beyond this limit: the system then fails writes as on a full disk. Without the trap the signal would end
  // the process instead.
  const wrap = ["sh", "-c", 'trap "" XFSZ; ulimit -f 2400; exec "$@"', "sh"];
  await using full = await startParley({ data, env, wrap });
  const app = await full.admin.createApp();
  const key = await full.admin.createKey(app._id);

  const labels: string[] = [];
  let failed = await full.admin.call("GET", "/apps");
  while (failed.status === 200 && labels.length < 1000) {
    const label = crypto.randomUUID();
    failed = await full.admin.call("PATCH", `/signalling/keys/${key.keyId}`, { label, channelPatterns: [label] });
    if (failed.status === 200) labels.push(label);
  }
  expect({ status: failed.status, body: failed.body }).toEqual({
    status: 500,
    body: { error: "internal_error", message: expect.any(String) as string },
  });
  expect(failed.text).not.toMatch(/sqlite|disk|I\/O/i);
  const requestId = failed.headers.get("x-request-id");
  expect(requestId).toBeString();
  // Entries of the audit that could not be written are logged too.
  await full.logged((line) => line.level === "error" && line.requestId === requestId);

  const last = labels.at(-1)!;
  expect(await full.admin.key(key.keyId)).toMatchObject({ label: last, channelPatterns: [last] });
  expect((await mint(full.url, key.credential, { peerId: "a", channels: [last] })).status).toBe(200);
  const rotated = await full.admin.call("POST", `/signalling/keys/${key.keyId}/rotate`, { retirePrevious: true });
  expect(rotated.status).toBe(500);
  expect(rotated.text).not.toContain("sk_secret_");
  expect((await full.admin.call("DELETE", `/signalling/keys/${key.keyId}`)).status).toBe(500);
  expect((await mint(full.url, key.credential)).status).toBe(200);
  expect((await call(`${full.url}/healthz`)).status).toBe(200);
  const ready = await call<{ checks: Json }>(`${full.url}/readyz`);
  expect([ready.status, ready.body.checks]).toEqual([
    503,
    expect.objectContaining({ store: "ok", writes: "the store cannot be written to; is the disk full?" }),
  ]);
  expect(ready.text).not.toMatch(/sqlite|I\/O/i);
  await full.kill();

  await using restarted = await startParley({ data, env });
  expect(await restarted.admin.key(key.keyId)).toMatchObject({ label: last, revoked: null, rotated: null });
  expect((await mint(restarted.url, key.credential, { peerId: "a", channels: [last] })).status).toBe(200);
  await restarted.admin.patchKey(key.keyId, { label: "free space" });
});
