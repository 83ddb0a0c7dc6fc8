/** docs/backend-tokens.md: each program on the page is run, if its runtime is installed. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfSigned } from "../support/jwt.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { welcomed } from "../support/wire/connect.ts";
import { run } from "./support/child.ts";
import { block, blocks } from "./support/page.ts";

const PAGE = "docs/backend-tokens.md";

interface Language {
  readonly heading: string;
  readonly fence: string;
  readonly runtime: string;
  readonly file: string;
  readonly command: (file: string) => string[];
}

const LANGUAGES: readonly Language[] = [
  { heading: "Node", fence: "js", runtime: "node", file: "token.mjs", command: (file) => ["node", file] },
  { heading: "Python", fence: "python", runtime: "python3", file: "token.py", command: (file) => ["python3", file] },
  { heading: "Go", fence: "go", runtime: "go", file: "token.go", command: (file) => ["go", "run", file] },
  { heading: "PHP", fence: "php", runtime: "php", file: "token.php", command: (file) => ["php", file] },
];

/** The first `go run` on a machine compiles parts of the standard library, which takes a minute on a busy one: only in full. */
const isCompiled = (runtime: string): boolean => runtime === "go";
const COMPILE_MS = 180_000;

const CLAIMS = {
  channels: ["chat/*"],
  permissions: ["publish", "subscribe", "presence"],
  peerMetadata: { name: "Zoë" },
  metadata: { iceServers: [] },
};

let server: Server;
const folder = tempFolder();
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
});
afterAll(async () => {
  await server.stop();
  removeFolder(folder);
});

/** The service accepts the token, and other peers see its metadata. */
async function isGood(token: string): Promise<void> {
  const { channels, permissions } = CLAIMS;
  expect(await server.admin.check(token)).toMatchObject({ valid: true, peerId: "alice", channels, permissions });
  using bob = await welcomed(server.url, `key=${server.keys.publishableKey}`);
  await bob.join("chat/1");
  using alice = await welcomed(server.url, `token=${token}`);
  expect(alice.frames[0]).toMatchObject({ type: "welcome", peerId: "alice", metadata: CLAIMS.metadata });
  await alice.join("chat/1");
  const { joined } = await bob.until("presence");
  expect(joined).toEqual([{ peerId: "alice", metadata: CLAIMS.peerMetadata }]);
}

describe("tokens from a backend", () => {
  for (const { heading, fence, runtime, file, command } of LANGUAGES) {
    if (!Bun.which(runtime)) {
      console.warn(`NOT RUN: the ${heading} program of ${PAGE}, since there is no \`${runtime}\` here`);
      test.skip(`${heading}: NOT RUN, there is no \`${runtime}\` here`, () => undefined);
      continue;
    }
    if (isCompiled(runtime) && !IS_FULL) {
      test.skip(`${heading}: only in full runs`, () => undefined);
      continue;
    }
    const name = `${heading}: the program as printed on the page makes a valid token`;
    const body = async (): Promise<void> => {
      const path = join(folder, file);
      writeFileSync(path, block(PAGE, fence, heading));
      const env = { PARLEY_KEY: server.keys.secretKey, GOTOOLCHAIN: "local" };
      const { code, out, err } = await run(command(path), { cwd: folder, env, patienceMs: COMPILE_MS });
      expect({ code, err }).toEqual({ code: 0, err: "" });
      await isGood(out.trim());
    };
    test(name, body, COMPILE_MS);
  }

  test("the service mints an equivalent token", async () => {
    const script = block(PAGE, "sh", "Ask the service instead")
      .replace("localhost:8080", server.url)
      .replace("data/first-run.txt", `${server.data}/first-run.txt`);
    const { out } = await run(["sh", "-c", script]);
    const { token, expiresAt } = JSON.parse(out) as { token: string; expiresAt: number };
    expect(expiresAt).toBeNumber();
    await isGood(token);
  });

  test("every program on the page is run by this suite", () => {
    const all = blocks(PAGE);
    const known = LANGUAGES.map(({ heading, fence }) => `${heading} ${fence}`);
    const others = all.filter(({ heading, language }) => !known.includes(`${heading} ${language}`));
    expect(all.length - others.length).toBe(LANGUAGES.length);
    expect(others.map(({ heading, language }) => [heading, language])).toEqual([
      ["Connect tokens from your backend", ""],
      ["Ask the service instead", "sh"],
      ["Pass the token to the client", "js"],
    ]);
  });

  test("the warnings of the page are true: a list instead of an object, a clock that is ahead", async () => {
    const [keyId = "", secret = ""] = server.keys.secretKey.split(":");
    const now = Math.floor(Date.now() / 1000);
    const check = (claims: object) => server.admin.check(selfSigned(keyId, secret, { exp: now + 500, ...claims }));
    expect(await check({ metadata: [] })).toMatchObject({ valid: false, error: "invalid_token" });
    expect(await check({ metadata: {} })).toMatchObject({ valid: true });
    expect(await check({ iat: now + 50 })).toMatchObject({ valid: true });
    expect(await check({ iat: now + 90 })).toMatchObject({ valid: false, error: "invalid_token" });
    expect((await check({ iat: now - 600, exp: now + 200_000 })).expiresAt).toBe(now - 600 + 86_400);
    expect(await check({ channels: ["chat/*"], permissions: ["fly"] })).toMatchObject({ valid: false });
  });
});
