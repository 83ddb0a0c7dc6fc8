/** `kill -9` of a service with an embedded store: the next start sends webhooks at once. Nothing else can have the lease that was not given back. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { WebhookReceiver } from "../support/webhooks/receiver.ts";

setDefaultTimeout(60_000);

/** Less than the time after which a lease that is not renewed is free: 10 s. */
const AT_ONCE_MS = 5000;

const receiver = new WebhookReceiver();
afterAll(() => {
  receiver[Symbol.dispose]();
  expect(receiver.wrong).toEqual([]);
});

for (const workers of [1, 2])
  test(`with ${workers === 1 ? "one worker" : `${workers} workers`}`, async () => {
    using folder = scratch();
    const env = {
      PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8",
      PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
      PARLEY_WORKERS: String(workers),
    };
    const options = { data: folder.path, env };
    const path = `/${workers}`;
    const before = await startParley(options);
    const app = await before.admin.createApp();
    const wanted = { url: receiver.url(path), events: ["key.*"] };
    const { secret } = await before.admin.must<{ secret: string }>("POST", `/apps/${app.name}/webhooks`, wanted);
    receiver.expect(path, secret);
    // What was answered just before the kill is sent again: each counts once.
    const got = (): number => new Set(receiver.of(path).map(({ data }) => data.seq)).size;
    await before.admin.createKey(app._id);
    await until("it sends", () => got() === 1);
    await before.kill();
    await using after = await startParley(options);
    await after.admin.createKey(app._id);
    const tookMs = await until("the next start sends", () => got() === 2);
    expect(tookMs).toBeLessThan(AT_ONCE_MS);
  });
