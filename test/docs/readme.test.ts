/** The tour of README.md, pasted into a shell. Only the port and the data folder differ. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Server, startParley } from "../support/parley.ts";
import { runModule } from "./support/module.ts";
import { block } from "./support/page.ts";
import { type Expected, hold, paste } from "./support/shell.ts";

const TOUR = block("README.md", "sh", "Tour");

let server: Server;
beforeAll(async () => {
  // No admin token is set, so that the first start makes one, as it does for a new user.
  server = await startParley({ env: { PARLEY_ADMIN_TOKEN: "" } });
});
afterAll(() => server.stop());

const json = (text: string): Record<string, unknown> => JSON.parse(text);

const EXPECTED: readonly Expected[] = [
  { command: /^export PARLEY_KEY=/, holds: () => undefined },
  { command: /^export PARLEY_ADMIN_TOKEN=/, holds: () => undefined },
  {
    command: /^curl .*\/v1\/tokens/,
    holds: ({ out }) => expect(json(out)).toMatchObject({ token: expect.stringMatching(/^eyJ/), channels: ["chat/*"] }),
  },
  {
    command: /^curl .*\/publish/,
    holds: ({ out }) => expect(json(out)).toEqual({ channel: "chat/1", published: true }),
  },
  { command: /^curl .*\/v1\/channels /, holds: ({ out }) => expect(json(out)).toEqual({ data: [], next: null }) },
  { command: /^bin\/parley token mint .*chat/, holds: ({ out }) => expect(out).toMatch(/^eyJ[\w.-]+\n$/) },
  {
    command: /^bin\/parley token mint .*\| bin\/parley token check -$/,
    holds: ({ out }) => expect(out).toMatch(/^token +good\npeer +alice\n/),
  },
  { command: /^bin\/parley apps create shop$/, holds: ({ out }) => expect(out).toMatch(/^name +shop$/m) },
  {
    command: /^bin\/parley keys create .*publishable/,
    holds: ({ out }) => {
      expect(out).toMatch(/^key +pk_live_[0-9a-f]{32}$/m);
      expect(out).toMatch(/^origins +https:\/\/shop\.example\.com$/m);
      expect(out).not.toContain("secret");
    },
  },
  {
    command: /^bin\/parley keys create .*secret/,
    holds: ({ out }) => {
      expect(out).toMatch(/^key +sk_id_[0-9a-f]{32}$/m);
      expect(out).toMatch(/^secret +sk_secret_[\w-]{48}$/m);
    },
  },
  {
    command: /^bin\/parley keys list --app shop$/,
    holds: ({ out }) => {
      expect(out.trim().split("\n")).toHaveLength(3);
      expect(out).toMatch(/^pk_live_\w+ +shop +publishable +live/m);
      expect(out).toMatch(/^sk_id_\w+ +shop +secret +live/m);
    },
  },
];

test("every command of the tour does what it says", async () => {
  const { host } = new URL(server.url);
  const script = TOUR.replaceAll("localhost:8080", host).replaceAll(
    "data/first-run.txt",
    `${server.data}/first-run.txt`,
  );
  expect(script).not.toBe(TOUR);
  hold(await paste(script, { PARLEY_URL: server.url }), EXPECTED);
});

test("its lines of JavaScript work", async () => {
  const lines = TOUR.split("\n").flatMap((line) => /^# {3}(.+)/.exec(line)?.[1] ?? []);
  expect(lines).toHaveLength(3);
  const program = lines
    .join("\n")
    .replace("ws://localhost:8080", server.url.replace("http", "ws"))
    .replace("pk_live_…", server.keys.publishableKey);
  const { code, out, err } = await runModule(`${program}\nconsole.log(client.state);\nawait client.close();\n`);
  expect({ code, out, err }).toEqual({ code: 0, out: "connected\n", err: "" });
});

test("its lines for a page without a bundler work in two of them", async () => {
  const file = await (await fetch(`${server.url}/client.js`)).text();
  const address = `data:text/javascript;base64,${Buffer.from(file).toString("base64")}`;
  const program = block("README.md", "js", "Tour")
    .replace("http://localhost:8080/client.js", address)
    .replace("http://localhost:8080", server.url)
    .replace("pk_live_…", server.keys.publishableKey);
  // The same once more is the second tab.
  const other = program.replace(/^import .*$/m, "");
  const { code, out, err } = await runModule(
    `${program}\nchat.on("message", () => parley.close());\n{${other}\nparley.close();}\n`,
  );
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^[\w-]{36} \{\s*text: "hello",?\s*\}\n$/);
});
