/** docs/cli.md and the line of docs/tour.md about it: what they show, done in two terminals. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMMANDS, commandAt } from "../../src/cli/declarations/all.ts";
import { type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { Terminal } from "../support/terminal.ts";
import { blocks, readPage } from "./support/page.ts";
import { hold, paste, stay } from "./support/shell.ts";

const PAGE = "docs/cli.md";

let server: Server;
/** As in the folder where the service was started, on any port; only its data folder differs. */
let env: Record<string, string>;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_ADMIN_TOKEN: "" } });
  env = { PARLEY_DATA: server.data };
});
afterAll(() => server.stop());

const under = (heading: string): string[] =>
  blocks(PAGE)
    .filter((one) => one.heading === heading)
    .map(({ text }) => text);

test("two terminals talk, without a key", async () => {
  const [listen = "", publish = ""] = under("Two terminals");
  await using listener = stay(listen, env);
  await listener.writes(/listening to chat\/1 .*press Ctrl-C to stop/);
  hold(await paste(publish, env), [
    { command: /hello from/, holds: ({ out }) => expect(out).toBe("published to chat/1\n") },
    { command: /"text"/, holds: ({ out }) => expect(out).toBe("published to chat/1\n") },
    { command: /channels/, holds: ({ out }) => expect(out).toMatch(/^chat\/1 +0 +1$/m) },
    { command: /usage/, holds: ({ out }) => expect(out).toMatch(/^messages +2, unlimited$/m) },
  ]);
  await listener.writes(/chat\/1 +cli +hello from the terminal\n/);
  await listener.writes(/chat\/1 +cli +\{"text":"hello","lang":"en"\}\n/);
  expect(await listener.stop("SIGINT")).toBe(0);
});

test("a service is used with its address and a key", async () => {
  const [, remote = ""] = under("Other services: contexts");
  const script = remote
    .replace("https://parley.example.com", server.url)
    .replace("sk_id_…:sk_secret_…", server.keys.secretKey);
  await using listener = stay(script, {});
  await listener.writes(/chat\/1 has no history/);
});

test("a context is made, used and forgotten; only the token is read from a file here", async () => {
  const [script = ""] = under("Other services: contexts");
  using home = scratch();
  writeFileSync(join(home.path, "token"), server.keys.adminToken);
  const login = `login ${server.url} --name prod --token-stdin <'${home.path}/token'`;
  const lines = await paste(script.replace("login https://parley.example.com --name prod", login), {
    XDG_CONFIG_HOME: home.path,
  });
  expect(lines.map(({ code, err }) => [code, code === 0 ? "" : err])).toEqual(lines.map(() => [0, ""]));
  hold(lines, [
    { command: /login/, holds: ({ out }) => expect(out).toMatch(/^context +prod$/m) },
    { command: /apps list$/, holds: ({ out }) => expect(out).toMatch(/^demo /m) },
    { command: /publish/, holds: ({ out }) => expect(out).toBe("published to chat/1\n") },
    { command: /use -/, holds: ({ out }) => expect(out).toBe("using services of this machine\n") },
    { command: /--context/, holds: ({ out }) => expect(out).toMatch(/^demo /m) },
    { command: /contexts/, holds: ({ out }) => expect(out).toMatch(/prod +http/) },
    { command: /logout/, holds: ({ out }) => expect(out).toStartWith("forgot prod, ") },
  ]);
});

test("the two commands of docs/tour.md do it too", async () => {
  const [, listen = "", publish = ""] =
    /`(bin\/parley listen[^`]*)`[^`]*`(bin\/parley publish[^`]*)`/.exec(readPage("docs/tour.md")) ?? [];
  await using listener = stay(listen, env);
  await listener.writes(/press Ctrl-C to stop/);
  const [outcome] = await paste(publish, env);
  expect(outcome).toMatchObject({ code: 0, out: "published to chat/1\n" });
  await listener.writes(/hello\n/);
});

test("every command is written as in a clone, and exists", () => {
  const page = readPage(PAGE);
  expect(page.replaceAll(/`parley`/g, "")).not.toMatch(/(^|[`|(] ?)parley [a-z]/m);
  const written = [...page.matchAll(/bin\/parley ((?:[a-z-]+ ?){1,2})/g)].map(([, parts = ""]) =>
    parts.trim().split(" "),
  );
  expect(written.length).toBeGreaterThan(15);
  expect(written.filter((parts) => commandAt(parts) === undefined)).toEqual([]);
});

test("the table of questions names every command that has --yes, and no other", () => {
  const [, table = ""] = /## Confirmation[\s\S]*?(\| asks [\s\S]*?)\n\n/.exec(readPage(PAGE)) ?? [];
  const named = [...table.matchAll(/`([a-z]+(?: [a-z-]+)?)`/g)].map(([, name = ""]) => name);
  const asking = COMMANDS.filter(({ flags }) => flags.some(({ name }) => name === "yes")).map(({ name }) => name);
  expect(named.toSorted()).toEqual(asking.toSorted());
});

test("the page names every command that prints a list, and each says so in its help", () => {
  const [, listed = ""] = /Lists \(([^)]*)\)/.exec(readPage(PAGE)) ?? [];
  const named = [...listed.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  const printing = COMMANDS.filter(({ flags }) =>
    flags.some((flag) => flag.name === "json" && /per line/.test(flag.meaning)),
  );
  const talking = ["listen", "publish", "send"];
  expect(named.toSorted()).toEqual(
    printing
      .map(({ name }) => name)
      .filter((name) => !talking.includes(name))
      .toSorted(),
  );
});

test("on a terminal it has colours, what peers send has none, and Ctrl-C ends it", async () => {
  await using listener = new Terminal(["sh", "bin/parley", "listen", "chat/2"], env);
  await listener.shows(/press Ctrl-C to stop/);
  await paste("bin/parley publish chat/2 '\"\\u001b[31mred\"'", env);
  expect(await listener.shows(/red/)).toContain(`\x1b[36m${"cli".padEnd(12)}\x1b[0m  \\u001b[31mred`);
  listener.type("\x03");
  expect(await listener.exited).toBe(0);
});
