/** docs/quickstart.md, from its second step on: with a running server, everything is done as the page says. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Server, startParley } from "../support/parley.ts";
import type { Child } from "./support/child.ts";
import { BUN, NODE, runModule } from "./support/module.ts";
import { block, blocks } from "./support/page.ts";
import { type Expected, hold, paste, stay } from "./support/shell.ts";

const PAGE = "docs/quickstart.md";

let server: Server;
/** The exports of step 2, with this server's values; every block begins with them. */
let exports: string;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_ADMIN_TOKEN: "" } });
  const { secretKey, publishableKey } = server.keys;
  exports = block(PAGE, "sh", "2. Copy your keys")
    .replace("sk_id_…:sk_secret_…", secretKey)
    .replace("pk_live_…", publishableKey);
});
afterAll(() => server.stop());

const here = (script: string): string => script.replaceAll("localhost:8080", new URL(server.url).host);

/** Runs a block that ends with an interactive program. */
const interactive = (script: string): Child => stay(here(script), { PARLEY_URL: server.url, PARLEY_DATA: server.data });

const json = (text: string): Record<string, unknown> => JSON.parse(text);
const none = { command: /^export PARLEY_/, holds: () => undefined };

test("the first start makes what the page shows", () => {
  const names = [...block(PAGE, "", "1. Start the server").matchAll(/^ {4}(\S+(?: \S+)?) {2,}/gm)].map(
    ([, name]) => name,
  );
  expect(names).toEqual(["application", "publishable key", "secret key", "app secret", "admin token"]);
  expect(exports).not.toContain("…");
});

test("two people talk, and the backend publishes", async () => {
  const [asAlice = "", asBob = ""] = blocks(PAGE)
    .filter(({ heading }) => heading === "3. Let two people talk")
    .map(({ text }) => text);
  await using alice = interactive(asAlice);
  await alice.writes(/you are alice/);
  await using bob = interactive(asBob);
  await bob.writes(/here: Alice/);
  alice.say("hello Bob");
  await bob.writes(/Alice: hello Bob/);
  bob.say("/who");
  await bob.writes(/here: Alice/);

  const expected: Expected[] = [
    none,
    none,
    {
      command: /channels -H/,
      holds: ({ out }) =>
        expect(json(out)).toEqual({ data: [{ channel: "chat/1", peers: 2, connections: 2 }], next: null }),
    },
    {
      command: /peers -H/,
      holds: ({ out }) =>
        expect(json(out)).toEqual({
          channel: "chat/1",
          peers: expect.arrayContaining([
            { peerId: "alice", metadata: { name: "Alice" } },
            { peerId: "bob", metadata: { name: "Bob" } },
          ]),
        }),
    },
    { command: /publish -H/, holds: ({ out }) => expect(json(out)).toEqual({ channel: "chat/1", published: true }) },
    { command: /send -H/, holds: ({ out }) => expect(json(out)).toEqual({ peerId: "alice", delivered: true }) },
  ];
  const backend = block(PAGE, "sh", "4. Publish from your backend");
  hold(await paste(`${exports}${here(backend)}`, {}), expected);
  await alice.writes(/server: hello from the backend/);
  await bob.writes(/server: hello from the backend/);
});

for (const [name, runtime] of [
  ["Bun", BUN],
  ["Node", NODE],
] as const)
  test(`the program with the SDK works, under ${name}`, async () => {
    const program = here(block(PAGE, "js", "5. Use the SDK"));
    const env = { PARLEY_PUBLISHABLE_KEY: server.keys.publishableKey };
    const { code, out, err } = await runModule(program, env, runtime);
    expect({ code, out, err }).toEqual({ code: 0, out: "chat/2: hello from the SDK\n", err: "" });
  });

/** A Python that has the package; PARLEY_TEST_PYTHON names one that is not in PATH. */
const PYTHON = process.env.PARLEY_TEST_PYTHON ?? "python3";
const hasPythonSdk =
  Bun.which(PYTHON) !== null && Bun.spawnSync([PYTHON, "-c", "import metered_realtime"]).exitCode === 0;
if (!hasPythonSdk)
  console.warn(
    "metered-realtime is not installed: the program with the Python SDK is NOT run (pip install metered-realtime)",
  );

test.skipIf(!hasPythonSdk)("the program with the Python SDK works, and sees the other member", async () => {
  const program = here(block(PAGE, "python", "The SDK for Python"));
  const child = Bun.spawn([PYTHON, "-c", program], {
    env: { PATH: process.env.PATH, PARLEY_PUBLISHABLE_KEY: server.keys.publishableKey },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect({ code, out, err }).toEqual({ code: 0, out: "chat/3: hello from Python\n1 other here\n", err: "" });
});

test("the commands make an application with its keys", async () => {
  const expected: Expected[] = [
    none,
    none,
    { command: /apps create/, holds: ({ out }) => expect(out).toMatch(/^name +store$/m) },
    {
      command: /--type secret/,
      holds: ({ out, err }) => {
        expect(out).toMatch(/^secret +sk_secret_/m);
        expect(err).toContain("not shown again");
      },
    },
    { command: /--type publishable/, holds: ({ out }) => expect(out).toMatch(/^key +pk_live_/m) },
    { command: /keys list/, holds: ({ out }) => expect(out.match(/ live /g)).toHaveLength(2) },
  ];
  const script = block(PAGE, "sh", "7. Create your own application");
  hold(await paste(`${exports}${here(script)}`, { PARLEY_URL: server.url, PARLEY_DATA: server.data }), expected);
});
