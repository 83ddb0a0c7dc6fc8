/** `parley webhooks …`, as processes against a running server, with receivers on this machine. */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../../test/support/wait.ts";
import { freePort } from "../../../testing/ports.ts";
import { startServer, temporaryFolder, withServer } from "../../testing/kit.ts";
import { Running } from "../../testing/running.ts";
import { whyNotVerified } from "./webhook-receiver.ts";

setDefaultTimeout(60_000);

const cli = withServer(() => ({ PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8" }));
const { folder, run, json, jsonLines } = cli;

const running: Running[] = [];
afterEach(() => Promise.all(running.splice(0).map((one) => one.stop("SIGKILL"))));

/** Answers with the status that is set, and keeps what came. */
class Backend {
  status = 204;
  readonly requests: { readonly headers: Headers; readonly body: string }[] = [];
  readonly server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      this.requests.push({ headers: request.headers, body: await request.text() });
      return new Response(this.status === 204 ? null : "not now", { status: this.status });
    },
  });
  readonly url = `http://127.0.0.1:${this.server.port}/hook`;
  readonly ids = (): (string | null)[] => this.requests.map(({ headers }) => headers.get("webhook-id"));
}
const backend = new Backend();
afterAll(() => backend.server.stop(true));

let apps = 0;
async function newApp(): Promise<string> {
  const name = `hooks-${++apps}`;
  await json(`apps create ${name}`);
  return name;
}

interface Webhook {
  readonly _id: string;
  readonly secret: string;
  readonly headers: Record<string, string>;
  readonly health: { readonly state: string; readonly delivered: number };
}

const addKey = (app: string) => json(`keys create --app ${app} --type secret --channels x --actions publish`);

describe("webhooks", () => {
  test("are created, listed, shown, changed, rotated and deleted", async () => {
    const app = await newApp();
    expect((await run(`webhooks list --app ${app}`)).stderr).toContain("There are no webhooks yet.");
    const made = await run(
      `webhooks create https://example.com/hook --app ${app} --events recording.ready,meeting.*`,
      "--description",
      "for the shop",
    );
    expect(made.exitCode).toBe(0);
    expect(made.stdout).toMatch(/^secret +whsec_[\w+/]{32}$/m);
    expect(made.stderr).toContain("it is not shown again");
    const [{ _id: id } = { _id: "" }] = await jsonLines<Webhook>(`webhooks list --app ${app}`);
    expect(made.stderr).toContain(`parley webhooks test ${id} --app ${app}`);
    expect((await run(`webhooks list --app ${app}`)).stdout).toMatch(
      new RegExp(`^${id} +https://example.com/hook +recording.ready, meeting.\\* +new +0 +0 +0 +-$`, "m"),
    );
    const shown = (await run(`webhooks show ${id} --app ${app}`)).stdout;
    expect(shown).toMatch(/^description +for the shop$/m);
    expect(shown).not.toContain("whsec_");

    const headers = join(folder, "headers");
    writeFileSync(headers, "Authorization: Bearer of-the-receiver\nX-Tenant: acme\n");
    const edited = await run(`webhooks edit ${id} --app ${app} --disabled on --headers-file ${headers}`);
    expect(edited.stdout).toMatch(/^headers +Authorization, X-Tenant$/m);
    expect(edited.stdout).toMatch(/^disabled +.*, on request$/m);
    expect(edited.stdout + edited.stderr).not.toContain("of-the-receiver");
    writeFileSync(headers, "X-Tenant:\n");
    expect(
      await json<Webhook>(`webhooks edit ${id} --app ${app} --disabled off --headers-file ${headers}`),
    ).toMatchObject({
      headers: { Authorization: "***" },
      disabled: false,
    } as never);
    const rotated = await json<{ secret: string }>(`webhooks rotate ${id} --app ${app} --grace 1h`);
    expect(rotated.secret).toMatch(/^whsec_/);
    expect((await run(`webhooks show ${id} --app ${app}`)).stdout).toMatch(/^previous secrets sign until +\d{4}-/m);

    const asked = await run(`webhooks delete ${id} --app ${app}`);
    expect([asked.exitCode, asked.stderr]).toEqual([2, expect.stringContaining("add --yes")]);
    expect((await run(`webhooks delete ${id} --app ${app} --yes`)).exitCode).toBe(0);
    const gone = await run(`webhooks show ${id} --app ${app}`);
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining('"parley webhooks list" lists them')]);
  });

  test("a test says what came back, also with its exit code", async () => {
    const app = await newApp();
    const { _id } = await json<Webhook>(`webhooks create ${backend.url} --events key.* --app ${app}`);
    backend.status = 204;
    const good = await run(`webhooks test ${_id} --app ${app}`);
    expect([good.exitCode, good.stdout]).toEqual([0, expect.stringMatching(/^succeeded +yes\nstatus +204$/m)]);
    backend.status = 503;
    const bad = await run(`webhooks test ${_id} --app ${app}`);
    expect([bad.exitCode, bad.stdout]).toEqual([1, expect.stringMatching(/^succeeded +no\nstatus +503$/m)]);
    expect(bad.stdout).toMatch(/^answer +not now$/m);
    expect(JSON.parse(backend.requests.at(-1)?.body ?? "")).toMatchObject({ type: "webhook.test" });
  });

  test("deliveries are listed; one is resent, what failed is replayed, with the same webhook-id", async () => {
    const app = await newApp();
    backend.status = 500;
    backend.requests.length = 0;
    const { _id } = await json<Webhook>(`webhooks create ${backend.url} --events key.created --app ${app}`);
    await addKey(app);
    await until("it was tried", () => backend.requests.length === 1);
    const failed = () =>
      jsonLines<{ _id: string; type: string }>(`webhooks deliveries ${_id} --app ${app} --status failed`);
    await until("the failure is in the log", async () => (await failed()).length > 0);
    expect(await failed()).toMatchObject([
      { type: "key.created", seq: 1, attempt: 1, status: 500, response: "not now" },
    ] as never);
    expect((await run(`webhooks deliveries ${_id} --app ${app}`)).stdout).toMatch(/key\.created +1 +1 +failed +500/);

    backend.status = 204;
    expect(await json(`webhooks replay ${_id} --app ${app} --since 1h`)).toEqual({ events: 1 });
    await until("it was sent again", () => backend.requests.length === 2);
    const succeeded = () => jsonLines<{ _id: string }>(`webhooks deliveries ${_id} --app ${app} --status succeeded`);
    await until("the success is in the log", async () => (await succeeded()).length > 0);
    const [one = { _id: "" }] = await succeeded();
    expect(await json(`webhooks resend ${_id} ${one._id} --app ${app}`)).toEqual({ webhookId: `msg_${_id}_1` });
    await until("it was resent", () => backend.requests.length === 3);
    expect(new Set(backend.ids())).toEqual(new Set([`msg_${_id}_1`]));
    expect(await json<Webhook>(`webhooks show ${_id} --app ${app}`)).toMatchObject({
      health: { state: "ok" },
    } as never);
  });

  test.each([
    ["webhooks create https://example.com --events recordin.ready", 1, 'did you mean "recording.ready"?'],
    ["webhooks create ftp://example.com --events key.*", 1, "must be an http or https address"],
    ["webhooks create http://10.0.0.1/ --events key.*", 1, "PARLEY_WEBHOOK_ALLOW opens addresses"],
    ["webhooks edit 0123", 2, "nothing to change"],
    ["webhooks show ../apps", 2, "is not the id of a webhook"],
    ["webhooks resend 0123 x", 2, "is not the number of a delivery"],
    ["webhooks replay 0123 --since yesterday", 2, "--since is"],
    ["webhooks deliveries 0123 --status good", 2, "allowed: succeeded, failed"],
    ["webhooks listen --port 99999", 2, "at most 65535"],
    ["webhooks listen --forward localhost", 2, "--forward is"],
  ])("%s is refused with what to do", async (line, exitCode, says) => {
    const ended = await run(line);
    expect([ended.exitCode, ended.stderr]).toEqual([exitCode, expect.stringContaining(says)]);
  });
});

describe("webhooks listen", () => {
  const listen = async (...args: string[]): Promise<Running> => {
    const one = new Running(["webhooks", "listen", ...args], cli.server.env);
    running.push(one);
    await one.has("stderr", "press Ctrl-C to stop");
    return one;
  };

  test("makes a webhook, prints what is verified, and deletes the webhook", async () => {
    const app = await newApp();
    const port = await freePort();
    const one = await listen("--app", app, "--port", String(port), "--events", "key.*", "--json");
    await addKey(app);
    await one.has("stdout", "key.created");
    const [{ _id } = { _id: "" }] = await jsonLines<Webhook>(`webhooks list --app ${app}`);
    expect(one.json).toMatchObject([
      {
        verified: true,
        id: `msg_${_id}_1`,
        type: "key.created",
        data: { appName: app, seq: 1, type: "secret" },
        status: 204,
      },
    ] as never);

    // What does not come from the service is shown as such, and refused.
    const forged = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: '{"type":"forged","data":{}}' });
    expect([forged.status, await forged.text()]).toEqual([
      401,
      expect.stringContaining("webhook-id, webhook-timestamp or webhook-signature is missing"),
    ]);
    await one.has("stdout", "forged");
    expect(one.json.at(-1)).toMatchObject({
      verified: false,
      why: expect.stringContaining("is missing"),
      status: 401,
    } as never);
    expect(await one.stop("SIGTERM")).toBe(0);
    expect(await jsonLines(`webhooks list --app ${app}`)).toEqual([]);
  });

  test("deletes a webhook that an earlier run has left, and passes requests and answers on", async () => {
    const app = await newApp();
    const port = await freePort();
    const killed = await listen("--app", app, "--port", String(port), "--events", "key.*");
    await killed.stop("SIGKILL");
    const [left = { _id: "" }] = await jsonLines<Webhook>(`webhooks list --app ${app}`);
    backend.status = 204;
    backend.requests.length = 0;
    const one = await listen(
      "--app",
      app,
      "--port",
      String(port),
      "--events",
      "key.*",
      "--forward",
      backend.url,
      "--count",
      "1",
    );
    const [made = left] = await jsonLines<Webhook>(`webhooks list --app ${app}`);
    expect(made._id).not.toBe(left._id);
    await addKey(app);
    // --count ends it.
    expect(await one.exited).toBe(0);
    expect(one.stdout).toMatch(/^\d\d:\d\d:\d\d {2}key\.created {2}#1 {2}verified {2}\{"app":/);
    expect(backend.ids()).toEqual([`msg_${made._id}_1`]);
    expect(await jsonLines(`webhooks list --app ${app}`)).toEqual([]);
  });

  test("with a secret it needs no service", async () => {
    const port = await freePort();
    const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
    const one = new Running(["webhooks", "listen", "--port", String(port), "--json"], {
      PARLEY_WEBHOOK_SECRET: secret,
    });
    running.push(one);
    await one.has("stderr", "press Ctrl-C to stop");
    const body = '{"type":"peer.left","data":{"seq":3}}';
    const send = () => fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers: signed(secret, body) });
    expect([(await send()).status, (await send()).status]).toEqual([204, 204]);
    await until("both are printed", () => one.json.length === 2);
    expect(one.json).toMatchObject([{ verified: true, id: "msg_1" }, { isRepeated: true }]);
    expect(one.json[0]).not.toHaveProperty("isRepeated");
  });

  test("a service that does not call this machine: it says what to start it with", async () => {
    const data = temporaryFolder();
    const server = await startServer(join(data, "data"));
    const port = await freePort();
    const one = new Running(["webhooks", "listen", "--port", String(port)], server.env);
    expect(await one.exited).toBe(1);
    expect(one.stderr).toContain(`start it with PARLEY_WEBHOOK_ALLOW=127.0.0.1:${port}, then repeat this`);
    await server.stop();
  });
});

const now = Math.floor(Date.now() / 1000);

function signed(secret: string, body: string, atSec = now): Record<string, string> {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signature = createHmac("sha256", key).update(`msg_1.${atSec}.${body}`).digest("base64");
  return { "webhook-id": "msg_1", "webhook-timestamp": String(atSec), "webhook-signature": `v1,${signature}` };
}

describe("a request is verified", () => {
  const secret = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
  const body = '{"type":"webhook.test"}';
  const why = (headers: Record<string, string>, text = body): string | undefined =>
    whyNotVerified(secret, new Headers(headers), Buffer.from(text), now * 1000);

  test("if one of its signatures is that of the secret", () => {
    const good = signed(secret, body);
    expect(why(good)).toBeUndefined();
    const other = signed(`whsec_${Buffer.alloc(24, 2).toString("base64")}`, body);
    const both = `${other["webhook-signature"]} v2,x ${good["webhook-signature"]}`;
    expect(why({ ...good, "webhook-signature": both })).toBeUndefined();
    expect(why(other)).toContain("the signature does not match this secret");
  });

  test("unless the body, the id or the time was changed, or the time is far away", () => {
    const good = signed(secret, body);
    expect(why(good, `${body} `)).toContain("or the body was changed");
    expect(why({ ...good, "webhook-id": "msg_2" })).toContain("the signature");
    expect(why({ ...good, "webhook-timestamp": String(now + 1) })).toContain("the signature");
    expect(why(signed(secret, body, now - 301))).toContain("more than five minutes");
    expect(why(signed(secret, body, now + 301))).toContain("more than five minutes");
    expect(why({ ...good, "webhook-timestamp": "soon" })).toContain("not a time");
    expect(why({ ...good, "webhook-signature": "" })).toContain("is missing");
    expect(why({ ...good, "webhook-signature": "v1," })).toContain("the signature");
  });
});
