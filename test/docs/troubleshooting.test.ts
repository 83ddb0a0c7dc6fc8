/** docs/troubleshooting.md lists every error and close code, and quotes messages as they are printed. */
import { describe, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import * as closings from "../../src/protocol/close.ts";
import { CODES, type Code, wireCode } from "../../src/protocol/codes.ts";
import { FRAME_MAX_BYTES, MESSAGE_MAX_BYTES } from "../../src/protocol/limits.ts";
import { mintToken } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { runParley, startParley } from "../support/parley.ts";
import { tempFolder } from "../support/temp.ts";
import { welcomed } from "../support/wire/connect.ts";
import { block, readPage } from "./support/page.ts";
import { paste } from "./support/shell.ts";

const PAGE = "docs/troubleshooting.md";
const page = readPage(PAGE);

/** The rows of the tables under a heading, cell by cell. */
function rows(heading: string): string[][] {
  const section = page.split(/^## /m).find((one) => one.startsWith(heading));
  if (section === undefined) throw new Error(`${PAGE} has no "${heading}"`);
  const lines = section.split("\n").filter((line) => line.startsWith("| "));
  return lines.slice(1).map((line) => line.slice(2, -2).split(" | "));
}

const quoted = (cell = ""): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text);

const codes = Object.keys(CODES) as Code[];
const wire = new Set(codes.map(wireCode));

describe("every error code", () => {
  const http = [...rows("A client cannot connect"), ...rows("A REST call fails")];
  const frames = rows("A frame is answered").flatMap(([code]) => quoted(code));

  for (const code of codes)
    test(`${code} is listed under its HTTP status or among the frames`, () => {
      const { status } = CODES[code];
      const isListed = http.some(([statuses = "", errors]) => {
        return statuses.split(", ").includes(String(status)) && quoted(errors).includes(wireCode(code));
      });
      expect(isListed || frames.includes(wireCode(code))).toBe(true);
    });

  test("no other code is listed", () => {
    const named = [...http.flatMap(([, errors]) => quoted(errors)), ...frames];
    expect(named.filter((code) => !wire.has(code))).toEqual([]);
    const statusOf = http.flatMap(([statuses = "", errors]) =>
      quoted(errors).flatMap((error) => statuses.split(", ").map((status) => `${status} ${error}`)),
    );
    const known = new Set(codes.map((code) => `${CODES[code].status} ${wireCode(code)}`));
    expect(statusOf.filter((one) => !known.has(one))).toEqual([]);
  });
});

describe("every close code", () => {
  const listed = rows("It connects, then closes").flatMap(([cell = ""]) => cell.split(", ").map(Number));

  for (const [name, { code }] of Object.entries(closings))
    test(`${code} (${name}) is listed`, () => {
      expect(listed).toContain(code);
    });

  test("the codes of the runtime are listed too, and the size limit of 1009", () => {
    for (const code of [1000, 1005, 1006, 1009]) expect(listed).toContain(code);
    expect(page).toContain(FRAME_MAX_BYTES.toLocaleString("en-US"));
    expect(MESSAGE_MAX_BYTES).toBeLessThan(FRAME_MAX_BYTES);
  });
});

describe("a server that does not start prints what the page quotes", () => {
  const said = rows("The server does not start").map(([cell]) => quoted(cell)[0] ?? "");
  const quotes = (beginning: string): string => said.find((one) => one.startsWith(beginning)) ?? "";

  test("a port in use, a folder in use", async () => {
    await using server = await startParley();
    const { port } = new URL(server.url);
    const other = await runParley(["up", "--port", port, "--host", "127.0.0.1", "--data", tempFolder()]);
    expect(other.output).toContain(quotes("port 8080").replace("8080", port));
    const same = await runParley(["up", "--port", "0", "--data", server.data]);
    expect(same.output).toContain(quotes("another Parley").replace("./data", server.data));
  });

  test("a master key that is missing", async () => {
    const data = tempFolder();
    const server = await startParley({ data });
    await server.kill("SIGTERM");
    expect(existsSync(`${data}/master.key`)).toBe(true);
    rmSync(`${data}/master.key`);
    const { code, output } = await runParley(["up", "--port", "0", "--data", data]);
    expect(code).not.toBe(0);
    expect(output).toContain(quotes("the store holds"));
  });

  test("a damaged store, a short admin token, a configuration file that is not there", async () => {
    const data = tempFolder();
    await Bun.write(`${data}/parley.sqlite`, "something else ".repeat(100));
    const damaged = await runParley(["up", "--port", "0", "--data", data]);
    expect(damaged.output).toContain(quotes("is not a readable"));
    const short = await runParley(["up", "--data", data], { PARLEY_ADMIN_TOKEN: "short" });
    expect(short.output).toContain(quotes("PARLEY_ADMIN_TOKEN"));
    const operator = await runParley(["up", "--data", data], { PARLEY_ADMIN_TOKEN: `op_${"x".repeat(48)}` });
    expect(operator.output).toContain(quotes("is an operator"));
    expect((await runParley(["up", "--config", "/no/such.toml"])).output).toContain(quotes("there is no such file"));
  });

  test("a variable that Kubernetes set, a flag that is a typo", async () => {
    const kubernetes = await runParley(["up"], { PARLEY_PORT: "tcp://10.0.0.1:80" });
    expect(kubernetes.output).toContain(quotes("PARLEY_PORT").replace("…", "10.0.0.1:80"));
    expect((await runParley(["up", "--prot", "1"])).output).toContain(quotes("there is no flag"));
  });

  test("the script that needs npm reports that it is missing or fails", () => {
    const setup = readPage("bin/setup.sh");
    for (const text of said.filter((one) => one.startsWith("npm"))) expect(setup).toContain(text);
  });
});

test("the command that asks for the reason, and the advice for the answers, work", async () => {
  await using server = await startParley();
  const script = block(PAGE, "sh").replace("localhost:8080", new URL(server.url).host);
  const why = async (token: string): Promise<{ error: string }> => {
    const [outcome] = await paste(script, { PARLEY_TOKEN: token });
    return JSON.parse(outcome?.out ?? "");
  };
  const { secretKey } = server.keys;
  const token = await mintToken(server.url, secretKey, { peerId: "alice" });
  expect(await why(token)).toMatchObject({ error: "upgrade_required" });
  expect(await why(`${token}x`)).toMatchObject({ error: "invalid_token" });

  const key = await server.admin.createPublishable("demo", { allowedOrigins: [] });
  const headers = { Origin: "http://localhost:3000" };
  const asked = () => call(`${server.url}/v1?key=${key.keyId}`, { headers });
  expect((await asked()).body).toMatchObject({ error: "origin_not_allowed" });
  const edit = ["keys", "edit", key.keyId, "--origins", "https://app.example.com,http://localhost:3000"];
  const env = { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: server.adminToken };
  expect((await runParley(edit, env)).code).toBe(0);
  expect((await asked()).body).toMatchObject({ error: "upgrade_required" });

  const unlimited = ["apps", "plan", "demo", "--max-messages", "none"];
  using listener = await welcomed(server.url, `token=${token}`);
  const publish = () => listener.request({ type: "publish", channel: "a", data: null });
  expect(await publish()).toMatchObject({ type: "ack" });
  await server.admin.must("PATCH", "/apps/demo", { plan: { maxMessagesPerPeriod: 1 } });
  expect(await publish()).toMatchObject({ code: "over_message_quota" });
  expect((await runParley(unlimited, env)).code).toBe(0);
  expect(await publish()).toMatchObject({ type: "ack" });

  const typo = await call<{ message: string }>(`${server.url}/v1/tokens`, {
    bearer: secretKey,
    body: { peerId: "alice", channel: ["a typo"] },
  });
  expect(typo.body.message).toBe('channel: there is no such field; did you mean "channels"?');
  const { headers: answered } = await call(`${server.url}/v1/channels/x/publish`, {
    bearer: secretKey,
    body: { data: 1, dat: 2 },
  });
  expect(answered.get("x-parley-ignored")).toContain("dat");
});
