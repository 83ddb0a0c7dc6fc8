import { expect, test } from "bun:test";
import { COMMANDS, GROUPS } from "./declarations/all.ts";
import { parseCommand } from "./dispatch.ts";
import { help } from "./help.ts";
import { Input } from "./line/input.ts";
import { asTyped } from "./terminal/hints.ts";

const helpText = async (command: string): Promise<string> =>
  (await help(new Input(command.split(" ").filter(Boolean), new Map(), {}))).text;

/** Splits a line as a shell does; our examples use only '…' for quotes. */
const split = (line: string): string[] =>
  [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ""));

test("names of commands are unique", () => {
  const names = COMMANDS.map((command) => command.name);
  expect(new Set(names).size).toBe(names.length);
});

test.each(COMMANDS.map((command) => [command.name, command] as const))(
  "%s: its examples are valid, its help has them and every flag, and it can be loaded",
  async (name, command) => {
    const text = await helpText(name);
    for (const example of command.examples) {
      expect(text).toContain(example);
      const line = example.split(" | ").find((part) => part.startsWith(`parley ${name}`)) ?? "";
      expect(parseCommand(split(line).slice(1)).command.name).toBe(name);
    }
    for (const flag of command.flags) expect(text).toContain(`--${flag.name}`);
    expect(typeof (await command.load())).toBe("function");
  },
);

test.each(COMMANDS.map(({ name }) => name))("the help of %s is plain text", async (name) => {
  expect(await helpText(name)).not.toMatch(/\]\(|`/);
});

test("hints repeat the flags that lead to the service, where the command takes them", () => {
  const flags = new Map([
    ["url", "http://127.0.0.1:9000"],
    ["data", "/var/lib/my data"],
    ["app", "shop"],
  ]);
  const hint = (text: string): string => asTyped(text, flags);
  expect(hint('"parley apps secret fleet" prints it')).toBe(
    `"parley apps secret fleet --url http://127.0.0.1:9000 --data '/var/lib/my data'" prints it`,
  );
  expect(hint('start one with "parley up"')).toBe(`start one with "parley up --data '/var/lib/my data'"`);
  expect(hint('see "parley help apps list"')).toBe('see "parley help apps list"');
  expect(hint('"parley restore FILE --data OTHER"')).toBe('"parley restore FILE --data OTHER"');
  expect(asTyped('"parley apps list" lists them', new Map())).toBe('"parley apps list" lists them');
});

test("the overview has every command", async () => {
  const text = await helpText("");
  for (const { title, commands } of GROUPS) {
    expect(text).toContain(title);
    for (const { name, summary } of commands)
      expect(text).toMatch(new RegExp(`^ {2}${name} +${summary.slice(0, 8)}`, "m"));
  }
});

test("help on a group has only its commands", async () => {
  const text = await helpText("keys");
  expect(text).toMatch(/^ {2}keys rotate /m);
  expect(text).not.toContain("apps create");
});

test("--help prints help even if required arguments are missing", () => {
  expect(parseCommand(["keys", "create", "--help"])).toMatchObject({
    command: { name: "help" },
    operands: ["keys", "create"],
  });
  expect(parseCommand(["keys", "show", "sk_id_x", "--help", "--json"]).operands).toEqual(["keys", "show"]);
  expect(parseCommand(["-h"])).toMatchObject({ command: { name: "help" }, operands: [] });
  expect(parseCommand(["--version", "--json"]).command.name).toBe("version");
});

test.each([
  ["kyes list", 'there is no command "kyes"; did you mean "keys"? See "parley help"'],
  ["keys lst", '"parley keys" has no "lst"; did you mean "list"? It has create, list'],
  ["keys", '"parley keys" needs one of create, list, show, traffic, edit, rotate, revoke. See "parley help keys"'],
  [
    "keys list --ap shop",
    'there is no flag --ap for "parley keys list"; did you mean --app? See "parley help keys list"',
  ],
  ["keys list --josn", "did you mean --json?"],
  ["keys list --grace 5", '"parley keys list" does not take --grace. See'],
  ["keys list --admin-token x", "does not take --admin-token; did you mean --admin-token-file?"],
  ["keys list shop", '"parley keys list" does not take "shop".'],
  ["keys show", '"parley keys show" needs KEY.'],
  ["keys create --app shop", '"parley keys create" needs --type, --channels, --actions.'],
  ["up --prot 9000", 'there is no flag --prot for "parley up"; did you mean --port?'],
  ["up --json", '"parley up" does not take --json'],
  ["backup file --port 1", '"parley backup" does not take --port'],
  ["--foo bar", "there is no flag --foo."],
  [
    "publish c -hello",
    'there is no flag -hello for "parley publish"; did you mean --help? If it is DATA, put -- before it: -- -hello. See',
  ],
  ["publish c hi --foo", 'there is no flag --foo for "parley publish". See'],
  [
    "rooms create typo --record-room on",
    `there is no flag --record-room for "parley rooms create"; recordRoom is a field: --fields '{"recordRoom":true}'. See`,
  ],
  ["rooms edit a --enable-chat=off", `enableChat is a field: --fields '{"enableChat":false}'.`],
  ["rooms edit a --audio-only-room", `audioOnlyRoom is a field: --fields '{"audioOnlyRoom":true}'.`],
  ["rooms token a --eject-after-elapsed-time-in-sec 60", `--fields '{"ejectAfterElapsedTimeInSec":60}'.`],
  ["rooms create a --foo", 'there is no flag --foo for "parley rooms create". See'],
  ["keys list --version", "does not take --version"],
  ["keys list --app a --app b", "--app is given twice"],
  ["keys list --json --json", "--json is given twice"],
])("%s is refused, with what is wrong and which help to read", (line, message) => {
  expect(() => parseCommand(line.split(" "))).toThrow(message);
});

test("a negative number is DATA, and so is everything behind --", () => {
  expect(parseCommand(["publish", "c", "-5"]).operands).toEqual(["c", "-5"]);
  expect(parseCommand(["publish", "c", "-.5e3", "--text"]).operands).toEqual(["c", "-.5e3"]);
  expect(parseCommand(["publish", "c", "--", "-hello"]).operands).toEqual(["c", "-hello"]);
});

test("flags may come before the command", () => {
  expect(parseCommand(["--json", "--url", "http://a", "keys", "list"])).toMatchObject({
    command: { name: "keys list" },
  });
});

test("a flag may be a switch in one command and have a value in another", () => {
  expect(parseCommand(["verify", "--history", "--json"]).flags.get("history")).toBe("on");
  expect(parseCommand(["listen", "--history", "50", "chat/1"])).toMatchObject({
    operands: ["chat/1"],
    flags: new Map([["history", "50"]]),
  });
  expect(() => parseCommand(["listen", "chat/1", "--history"])).toThrow("--history needs a value");
  expect(() => parseCommand(["verify", "--history=50"])).toThrow("--history takes no value");
});
