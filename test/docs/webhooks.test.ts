/** docs/webhooks.md: the receivers as they stand on the page, the examples of events, and the first five minutes. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asAppId } from "../../src/base/ids.ts";
import type { WebhookRow } from "../../src/store/contract/webhooks.ts";
import { freePort } from "../../src/testing/ports.ts";
import { EVENT_TYPES } from "../../src/webhooks/events/types.ts";
import { signedRequest } from "../../src/webhooks/signing/request.ts";
import { Application } from "../support/application.ts";
import { startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { Child, run } from "./support/child.ts";
import { block, blocks, PROJECT, readPage } from "./support/page.ts";
import { hold, paste, stay } from "./support/shell.ts";
import { ownFields, samples } from "./support/webhook-samples.ts";

const PAGE = "docs/webhooks.md";
/** Libraries are fetched, and Go compiles them. */
const PREPARE_MS = 180_000;
const KEYS = { old: Buffer.alloc(24, 1), now: Buffer.alloc(24, 2), other: Buffer.alloc(24, 3) };

setDefaultTimeout(PREPARE_MS);

const folder = tempFolder();
afterAll(() => removeFolder(folder));

interface Language {
  readonly name: string;
  readonly fence: string;
  readonly runtime: string;
  /** Writes the program and fetches its library; returns how it is run. */
  readonly prepare: (program: string, home: string) => Promise<readonly string[]>;
}

const must = async (command: readonly string[], cwd: string): Promise<void> => {
  const { code, err } = await run(command, { cwd, env: { GOTOOLCHAIN: "local", ...GO_ENV }, patienceMs: PREPARE_MS });
  expect([command.join(" "), code, code === 0 ? "" : err]).toEqual([command.join(" "), 0, ""]);
};
const GO_ENV = Object.fromEntries(
  ["GOPROXY", "GOPATH", "GOCACHE", "GOFLAGS", "GONOSUMDB", "GOSUMDB", "HOME"].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name] ?? ""]],
  ),
);

const LANGUAGES: readonly Language[] = [
  {
    name: "Node",
    fence: "js",
    runtime: "node",
    prepare: async (program, home) => {
      symlinkSync(join(PROJECT, "node_modules"), join(home, "node_modules"));
      writeFileSync(join(home, "receiver.mjs"), program);
      return ["node", join(home, "receiver.mjs")];
    },
  },
  {
    name: "Python",
    fence: "python",
    runtime: "python3",
    prepare: async (program, home) => {
      writeFileSync(join(home, "receiver.py"), program);
      await must(["python3", "-m", "venv", "env"], home);
      await must(["env/bin/pip", "install", "--quiet", "standardwebhooks"], home);
      return [join(home, "env/bin/python"), join(home, "receiver.py")];
    },
  },
  {
    name: "Go",
    fence: "go",
    runtime: "go",
    prepare: async (program, home) => {
      writeFileSync(join(home, "main.go"), program);
      await must(["go", "mod", "init", "receiver"], home);
      await must(["go", "get", "github.com/standard-webhooks/standard-webhooks/libraries"], home);
      await must(["go", "build", "-o", "receiver", "."], home);
      return [join(home, "receiver")];
    },
  },
];

const row: WebhookRow = {
  id: "0123456789abcdef01234567",
  app: asAppId("a"),
  kind: "control",
  url: "https://example.com/",
  events: ["*"],
  channelPatterns: null,
  description: null,
  headerNames: [],
  headersSealed: null,
  created: 0,
  disabled: null,
  disabledWhy: null,
};

interface Sending {
  readonly id?: string;
  readonly keys?: readonly Buffer[];
  readonly agoMs?: number;
  readonly body?: string;
  readonly change?: (body: string) => string;
}

/** Sends as the service does; returns the status. */
async function send(url: string, sending: Sending): Promise<number> {
  const { id = "msg_1", keys = [KEYS.now], agoMs = 0, change = (text: string) => text } = sending;
  const body = sending.body ?? samples()[0]?.body ?? "";
  const secrets = keys.map((key) => ({ key, ends: null }));
  const signed = signedRequest(id, body, { row, secrets, headers: {}, channels: null }, Date.now() - agoMs);
  if (!signed) throw new Error("nothing signs it");
  return (await fetch(url, { method: "POST", headers: signed.headers, body: change(body) })).status;
}

test("the first five minutes: what happens is verified and printed", async () => {
  const [start = "", listen = "", create = ""] = blocks(PAGE)
    .filter(({ language }) => language === "sh")
    .map(({ text }) => text.trim());
  expect(start).toBe("PARLEY_WEBHOOK_ALLOW=127.0.0.1:8788 bin/parley up");
  const port = await freePort();
  await using server = await startParley({
    env: { PARLEY_WEBHOOK_ALLOW: `127.0.0.1:${port}`, PARLEY_ADMIN_TOKEN: "" },
  });
  const env = { PARLEY_DATA: server.data };
  await using listener = stay(`${listen} --port ${port}`, env);
  await listener.writes(/listening at http:\/\/127\.0\.0\.1:\d+\/ to the application demo; press Ctrl-C to stop/);
  expect(await server.admin.must("GET", "/apps/demo/webhooks")).toMatchObject({ data: [{ events: ["*"] }] } as never);
  hold(await paste(create, env), [
    { command: /rooms create/, holds: ({ out }) => expect(out).toContain("my-first-room") },
  ]);
  await listener.writes(/\d\d:\d\d:\d\d +room\.created +#\d+ +verified +\{.*"roomName":"my-first-room".*\}\n/);
  expect(await listener.stop("SIGINT")).toBe(0);
  expect(await server.admin.must("GET", "/apps/demo/webhooks")).toEqual({ data: [], next: null });
});

test("the secrets of a room are answered as the page shows", async () => {
  const [call = "", answer = ""] = block(PAGE, "", "URL fields of rooms").trim().split("\n");
  await using server = await startParley();
  const app = new Application(server.url, "demo", server.keys.appSecret);
  const shown = JSON.parse(answer) as { data: { url: string; secret: string; _id: string }[] };
  await app.must("POST", "/room", { roomName: "standup", meetingEndedWebhook: shown.data[0]?.url });
  const { data } = await app.must<typeof shown>("GET", call.replace("GET /api/v1", ""));
  expect(data.map((one) => ({ ...one, secret: one.secret.slice(0, 6), _id: "" }))).toEqual(
    shown.data.map((one) => ({ ...one, secret: one.secret.slice(0, 6), _id: "" })),
  );
});

describe("receivers", () => {
  for (const { name, fence, runtime, prepare } of LANGUAGES) {
    const what = `${name}: it takes what is verified, each event once, and refuses everything else`;
    if (!Bun.which(runtime) || (name !== "Node" && !IS_FULL)) {
      test.skip(`${what} (in full runs, with ${runtime})`, () => undefined);
      continue;
    }
    test(what, async () => {
      const home = join(folder, name);
      mkdirSync(home);
      const command = await prepare(block(PAGE, fence, name), home);
      const port = await freePort();
      const env = { WEBHOOK_SECRET: `whsec_${KEYS.now.toString("base64")}`, PORT: String(port) };
      await using child = new Child(command, { env });
      const url = `http://127.0.0.1:${port}/`;
      await until(`${name} listens`, async () => (await send(url, { id: "first" }).catch(() => 0)) === 204);
      await child.writes(/connection\.opened \{.*"peerId": ?"ann".*\}\n/);

      for (const [at, { type, body }] of samples().entries()) {
        expect([type, await send(url, { id: `msg_${at}`, body })]).toEqual([type, 204]);
        await child.writes(new RegExp(`^${type.replace(".", "\\.")} \\{.*"seq": ?${at + 1}\\}\n`, "m"));
      }
      const before = child.output.length;
      expect(await send(url, { id: "msg_3" })).toBe(204);
      // While a secret is changed both sign, in either order.
      expect(await send(url, { id: "msg_3", keys: [KEYS.old, KEYS.now] })).toBe(204);
      expect(await send(url, { id: "msg_3", keys: [KEYS.now, KEYS.old] })).toBe(204);
      for (const refused of [
        { keys: [KEYS.other] },
        { keys: [KEYS.old, KEYS.other] },
        { agoMs: 6 * 60_000 },
        { agoMs: -6 * 60_000 },
        { change: (text: string) => text.replace("ann", "bob") },
        { change: (text: string) => `${text} ` },
      ])
        expect([Object.keys(refused), await send(url, { id: "new", ...refused })]).toEqual([Object.keys(refused), 401]);
      expect(child.output.slice(before)).not.toMatch(/^\w+\.\w+ \{/m);
    });
  }
});

describe("events", () => {
  const page = readPage(PAGE);

  test("the examples are what the service makes", () => {
    const lines = block(PAGE, "json", "Events").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(samples().map(({ body }) => ownFields(body)));
  });

  test("every type has its line in the table, and an example", () => {
    const table = page.slice(page.indexOf("## Events"), page.indexOf("```json"));
    for (const type of EVENT_TYPES) expect(table).toContain(`\`${type}\``);
    expect(samples().map(({ type }) => type)).toEqual([...EVENT_TYPES, "webhook.test"]);
  });

  test("what all events have is what the page says", () => {
    for (const [at, { body }] of samples().entries())
      expect(JSON.parse(body)).toMatchObject({
        timestamp: "2027-01-15T09:30:00.000Z",
        data: { appName: "demo", app: expect.any(String), seq: at + 1 },
      } as never);
  });
});
