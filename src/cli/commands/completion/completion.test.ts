/** Completion in real shells, and what they are answered. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PARLEY_MAIN } from "../../../../test/support/command.ts";
import { COMMANDS } from "../../declarations/all.ts";
import { SHELLS } from "../../line/shells.ts";
import { temporaryFolder } from "../../testing/kit.ts";
import { type Place, placeOf } from "./candidates.ts";

setDefaultTimeout(60_000);

const home = temporaryFolder();
afterAll(() => rmSync(home, { recursive: true, force: true }));

const after = (...args: string[]): string[] => {
  const { wanted, typed } = placeOf(args);
  return wanted.kind === "known"
    ? wanted.candidates.map(({ word }) => word).filter((word) => word.startsWith(typed))
    : [];
};
const kindAt = (...args: string[]): Place["wanted"]["kind"] => placeOf(args).wanted.kind;

describe("what can follow", () => {
  test("every command and every flag of each, from the declarations", () => {
    for (const { name, flags } of COMMANDS) {
      const parts = name.split(" ");
      expect(after(...parts.slice(0, -1), "")).toContain(parts.at(-1) ?? "");
      expect(after(...parts, "--")).toEqual([...flags.map((flag) => `--${flag.name}`), "--help"]);
    }
  });

  test("a flag is offered once, unless it may be repeated", () => {
    expect(after("verify", "--clients", "5", "--url", "ws://a", "--")).not.toContain("--clients");
    expect(after("verify", "--clients", "5", "--url", "ws://a", "--")).toContain("--url");
  });

  test("values are those of the declaration; files, folders, applications and contexts are named as such", () => {
    expect(after("keys", "create", "--type", "")).toEqual(["publishable", "secret"]);
    expect(after("keys", "edit", "k", "--turn", "o")).toEqual(["on", "off"]);
    expect(after("completion", "")).toEqual([...SHELLS]);
    expect(after("help", "rooms", "tok")).toEqual(["token"]);
    expect([kindAt("backup", ""), kindAt("up", "--tls-cert", ""), kindAt("keys", "list", "--data", "")]).toEqual([
      "files",
      "files",
      "folders",
    ]);
    expect([kindAt("apps", "show", ""), kindAt("listen", "chat/1", "--app", ""), kindAt("use", "")]).toEqual([
      "apps",
      "apps",
      "contexts",
    ]);
  });

  test("a value behind = is completed, also as bash splits it", () => {
    expect(placeOf(["keys", "create", "--type=se"])).toMatchObject({ typed: "se", before: "--type=" });
    expect(after("keys", "create", "--type", "=", "se")).toEqual(["secret"]);
    expect(after("keys", "create", "--type", "=")).toEqual(["publishable", "secret"]);
  });

  test("nothing where anything can be typed, and behind --", () => {
    expect(after("publish", "")).toEqual([]);
    expect(after("publish", "chat/1", "--", "--")).toEqual([]);
    expect(after("nonsense", "")).toEqual([]);
  });
});

/** Runs a script in a shell that has `parley` as a function. */
async function inShell(program: string, script: string): Promise<string[]> {
  const run = `"${process.execPath}" --no-env-file "${PARLEY_MAIN}"`;
  const parley = program.includes("fish") ? `function parley; ${run} $argv; end` : `parley() { ${run} "$@"; }`;
  const child = Bun.spawn([program, "-c", `${parley}\n${script}`], {
    cwd: home,
    env: { PATH: process.env.PATH ?? "", HOME: home },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect(stderr).toBe("");
  return stdout.trimEnd().split("\n");
}

test("bash completes commands, values, files and folders", async () => {
  mkdirSync(join(home, "a folder"));
  writeFileSync(join(home, "a file.sqlite"), "");
  const complete = (...args: string[]): string =>
    `COMP_WORDS=(parley ${args.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${args.length}; _parley
printf '%s|' "\${COMPREPLY[@]}"; echo`;
  const lines = await inShell(
    "bash",
    `eval "$(parley completion bash)"
complete -p parley
${complete("keys", "r")}
${complete("keys", "create", "--type", "=", "s")}
${complete("backup", "a f")}
${complete("keys", "list", "--data", "a")}`,
  );
  expect([lines[0], lines[1], lines[2]]).toEqual(["complete -F _parley parley", "rotate|revoke|", "secret|"]);
  expect(lines[3]?.split("|").toSorted()).toEqual(["", "a file.sqlite", "a folder"]);
  expect(lines[4]).toBe("a folder|");
});

const ZSH = Bun.which("zsh");
test.skipIf(!ZSH)("zsh is given commands with their meanings", async () => {
  const script = readFileSync(join(import.meta.dir, "../../testing/completion.zsh"), "utf8");
  const lines = await inShell(ZSH ?? "", script);
  expect(lines[0]).toBe("compdef _parley parley");
  expect(lines.slice(1).map((line) => line.split(":")[0])).toEqual(["rotate", "revoke", "--type=secret"]);
});

const FISH = Bun.which("fish");
test.skipIf(!FISH)("fish completes commands and values", async () => {
  const script = `parley completion fish | source
complete -C 'parley keys r'
complete -C 'parley keys create --type '`;
  const found = (await inShell(FISH ?? "", script)).map((line) => line.split("\t")[0]);
  expect(found.toSorted()).toEqual(["publishable", "revoke", "rotate", "secret"]);
});
