/** Snippets of pages that have no test of their own: run where that is cheap, otherwise read by the program that they are for. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { channelRules } from "../../src/http/control/channel-rule-schemas.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { run } from "./support/child.ts";
import { runModule } from "./support/module.ts";
import { block, blocks, commands, PROJECT } from "./support/page.ts";
import { paste, stay } from "./support/shell.ts";

setDefaultTimeout(60_000);

const TURN_SECRET = "a-secret-of-32-characters-or-more";
const turnSettings = block("docs/turn.md", "", "Settings").replace("…", TURN_SECRET);
const turnEnv = Object.fromEntries(
  turnSettings
    .trim()
    .split("\n")
    .map((line) => /^(\w+)=(.+)$/.exec(line)?.slice(1) ?? []),
);

let server: Server;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startParley({ env: { ...turnEnv, PARLEY_ADMIN_TOKEN: "" } });
  env = { PARLEY_DATA: server.data };
});
afterAll(() => server.stop());

describe("programs", () => {
  test("docs/tokens.md: the service accepts what the example signs", async () => {
    const [keyId, secret] = server.keys.secretKey.split(":");
    const program = `${block("docs/tokens.md", "js")}
      console.log(connectToken("${keyId}", "${secret}", { sub: "alice", channels: ["chat/*"] }));`;
    const { out } = await runModule(program);
    expect(await server.admin.check(out.trim())).toMatchObject({ valid: true, peerId: "alice" });
  });

  test("docs/backend-tokens.md: the SDK connects with a token of the backend", async () => {
    const [keyId, secret] = server.keys.secretKey.split(":");
    const client = block("docs/backend-tokens.md", "js", "Pass the token to the client");
    const program = `import { SignallingClient } from "@metered-ca/realtime";
      ${block("docs/tokens.md", "js")}
      const token = connectToken("${keyId}", "${secret}", { sub: "alice", channels: ["chat/*"] });
      globalThis.fetch = async (path, { method }) => Response.json(path === "/token" && method === "POST" ? { token } : {});
      ${client.replace("wss://realtime.example.com", server.url.replace("http", "ws"))}
      await client.connect();
      console.log(client.state);
      await client.close();`;
    expect(await runModule(program)).toEqual({ code: 0, out: "connected\n", err: "" });
  });
});

const publish = (credential: string): Promise<Response> =>
  fetch(`${server.url}/v1/channels/chat%2F1/publish`, {
    method: "POST",
    headers: { Authorization: `Bearer ${credential}` },
    body: '{"data":"hello"}',
  });

/** A program in another process has begun to read when it prints one of these; nothing else says so. */
async function publishesUntil(credential: string, done: Promise<unknown>): Promise<void> {
  let isDone = false;
  const settled = done.finally(() => {
    isDone = true;
  });
  while (!isDone) await publish(credential);
  await settled;
}

describe("commands that print until they are stopped", () => {
  test.skipIf(!IS_FULL)("docs/operations.md, docs/dashboard.md: a tail shows publishes", async () => {
    await server.admin.createApp("shop");
    const { credential } = await server.admin.createKey("shop");
    const tails = [
      ...commands(block("docs/operations.md", "sh", "Live tail")),
      ...commands(block("docs/dashboard.md", "sh", "Console and `parley tail`")),
    ];
    // A filter by peer shows nothing here; test/docs/names parses it.
    for (const command of new Set(tails.filter((one) => !one.includes("--peer")))) {
      await using tail = stay(command, env);
      await publishesUntil(credential, tail.writes(/publish/));
    }
  });

  test.skipIf(!IS_FULL || !Bun.which("jq"))("docs/cli.md: output for programs goes through jq", async () => {
    using folder = scratch();
    const log = join(folder.path, "app.log");
    writeFileSync(log, "a line of the log\n");
    const [listen = "", ...others] = commands(block("docs/cli.md", "sh", "For programs: `--json`"));
    await using listener = stay(listen, env);
    await publishesUntil(server.keys.secretKey, listener.exited);
    expect(listener.output).toContain(`${'"hello"\n'.repeat(10)}`);
    // `tail -f` never ends.
    const outcomes = await paste(others.join("\n").replace("tail -f app.log", `cat ${log}`), env);
    expect(outcomes.map(({ code, out }) => [code, out])).toEqual([
      [0, ""],
      [0, "demo\nshop\n"],
      [0, expect.stringContaining("published to logs/app")],
    ]);
  });
});

test("docs/turn.md: its settings are accepted, and existing clients get credentials as shown", async () => {
  expect(loadConfig(new Map(), turnEnv).warnings).toEqual([]);
  const shown = block("docs/turn.md", "", "As existing clients call it");
  const [request = "", answer = ""] = shown.split(/\n(?=\{)/);
  const { host, port } = new URL(server.url);
  const here = request
    .replace("https://demo.example.com", `http://demo.localhost:${port}`)
    .replace("curl ", `curl --resolve demo.localhost:${port}:${host.split(":")[0]} `);
  const [outcome] = await paste(here, { APP_SECRET: server.keys.appSecret });
  const names = Object.keys(JSON.parse(answer));
  expect(JSON.parse(outcome?.out ?? "")).toMatchObject({ expiryInSeconds: 14_400, label: "web" });
  expect(Object.keys(JSON.parse(outcome?.out ?? "")).sort()).toEqual(names.sort());
});

describe("files and parts of files", () => {
  test("docs/history.md: the rules are those of the control plane", () => {
    const { channelRules: rules } = JSON.parse(block("docs/history.md", "json")) as { channelRules: unknown };
    expect(channelRules().safeParse(rules).error).toBeUndefined();
  });

  test("docs/meetings.md: the frame allows what the page of a meeting asks for, and its script can be read", async () => {
    const html = block("docs/meetings.md", "html");
    const { port } = new URL(server.url);
    const page = await fetch(`${server.url}/none`, {
      headers: { Host: `demo.localhost:${port}`, Accept: "text/html" },
    });
    const asked = [...(page.headers.get("permissions-policy") ?? "").matchAll(/([\w-]+)=/g)].map(
      ([, name = ""]) => name,
    );
    const allowed = /allow="([^"]+)"/.exec(html)?.[1]?.split("; ") ?? [];
    expect(allowed.sort()).toEqual(asked.sort());
    const [, script = ""] = /<script>([\s\S]*)<\/script>/.exec(html) ?? [];
    expect(new Bun.Transpiler({ loader: "js" }).transformSync(script)).toContain('"message"');
  });

  test("client/README.md: its import map is that of docs/client-script.md, which is run", () => {
    const mapOf = (html: string): unknown =>
      JSON.parse(/<script type="importmap">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? "");
    const shown = JSON.stringify(mapOf(block("client/README.md", "html")));
    const tried = JSON.stringify(mapOf(block("docs/client-script.md", "html", "An import map")));
    expect(shown.replaceAll("https://parley.example.com", "")).toBe(tried.replace(/https?:\/\/[\w.:]+/g, ""));
  });

  test.skipIf(!Bun.which("nats-server"))("docs/clustering.md: nats-server accepts its settings", async () => {
    using folder = scratch();
    const file = join(folder.path, "nats-server.conf");
    writeFileSync(file, block("docs/clustering.md", "conf"));
    const { code, out, err } = await run(["nats-server", "-t", "-c", file]);
    expect([code, out + err]).toEqual([0, expect.stringContaining("is valid")]);
  });

  test("deploy/README.md: Prometheus's settings read the metrics of a node", () => {
    const { scrape_configs: jobs } = Bun.YAML.parse(block("deploy/README.md", "yaml")) as { scrape_configs: object[] };
    expect(jobs).toEqual([
      {
        job_name: "parley",
        authorization: { credentials_file: "admin-token" },
        static_configs: [{ targets: ["realtime.example.com:8080"] }],
      },
    ]);
  });

  test("docs/architecture.md: every folder of its list exists, and every part of src/ is in it", () => {
    const list = blocks("docs/architecture.md").find(({ language }) => language === "")?.text ?? "";
    const names = [...list.matchAll(/(?:^|^ {2}| {2,})(\w+)\/(?= )/gm)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(25);
    const missing = names.filter((name) => !["", "src"].some((folder) => existsSync(join(PROJECT, folder, name))));
    expect(missing).toEqual([]);
    const parts = new Bun.Glob("src/*/README.md").scanSync(PROJECT);
    expect(
      [...parts].map((path) => path.split("/")[1] ?? "").filter((part) => part !== "testing" && !names.includes(part)),
    ).toEqual([]);
  });
});
