/** `parley apps rules`, as processes, against a running server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parley, withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { folder, run, json } = cli;

interface Rules {
  channelRules: { pattern: string; graceSec: number; history?: object; stream?: object }[];
}

let apps = 0;
async function newApp(): Promise<string> {
  const name = `rules-${++apps}`;
  await json(`apps create ${name}`);
  return name;
}

/** Patterns are never expanded: the arguments do not pass through a shell. */
const rules = (app: string, ...flags: string[]) => run(`apps rules ${app}`, ...flags);
const patternsOf = async (app: string): Promise<string[]> =>
  (await json<Rules>(`apps rules ${app}`)).channelRules.map(({ pattern }) => pattern);

test("rules are added, replaced, moved and removed one by one, and shown as a table", async () => {
  const app = await newApp();
  const none = await rules(app);
  expect([none.stdout, none.stderr]).toEqual([
    "",
    `${app} has no channel rules: messages are not stored, and members who lose their connection leave at once.\n`,
  ]);
  await rules(app, "--add=chat/*", "--messages=500", "--seconds=7d");
  await rules(app, "--add=**", "--grace=30");
  const added = await rules(app, "--add=logs/**", "--messages=10", "--seconds=90", "--grace=5", "--at=1", "--yes");
  expect(added.stdout).toBe(
    [
      "   PATTERN  MESSAGES  KEPT FOR  GRACE",
      "1  logs/**  10        90s       5s",
      "2  chat/*   500       7d        -",
      "3  **       -         -         30s",
      "",
    ].join("\n"),
  );
  await rules(app, "--add=chat/*", "--messages=20", "--seconds=12h", "--yes");
  expect(await json<Rules>(`apps rules ${app}`)).toEqual({
    channelRules: [
      { pattern: "logs/**", history: { messages: 10, seconds: 90 }, graceSec: 5 },
      { pattern: "chat/*", history: { messages: 20, seconds: 43_200 }, graceSec: 0 },
      { pattern: "**", graceSec: 30 },
    ],
  });
  await rules(app, "--remove=logs/**", "--yes");
  expect(await patternsOf(app)).toEqual(["chat/*", "**"]);
});

test("streams are a rule of their own, shown in a column that is there only with them", async () => {
  const app = await newApp();
  await rules(app, "--add=chat/*", "--messages=500", "--seconds=7d");
  const added = await rules(app, "--add=runs/**", "--stream-seconds=7d", "--stream-bytes=16777216");
  expect(added.stdout).toBe(
    [
      "   PATTERN  MESSAGES  KEPT FOR  STREAMS     GRACE",
      "1  chat/*   500       7d        -           -",
      "2  runs/**  -         -         16 MiB, 7d  -",
      "",
    ].join("\n"),
  );
  expect((await json<Rules>(`apps rules ${app}`)).channelRules[1]).toEqual({
    pattern: "runs/**",
    stream: { seconds: 604_800, bytes: 16_777_216 },
    graceSec: 0,
  });
  const removed = await rules(app, "--remove=runs/**");
  expect([removed.exitCode, removed.stderr]).toEqual([2, expect.stringContaining("lose stored messages")]);
  for (const flags of [
    ["--stream-bytes=65536"],
    ["--stream-seconds=60"],
    ["--stream-seconds=60", "--stream-bytes=65536", "--messages=1", "--seconds=1"],
  ])
    expect((await rules(app, "--add=x", ...flags)).exitCode).toBe(2);
});

test("a rule behind one that matches all of its channels is named on stderr, also with --json", async () => {
  const app = await newApp();
  const first = await rules(app, "--add=chat/**", "--grace=30");
  expect(first.stderr).toBe("");
  const note =
    "Rule 2, chat/*, never applies: rule 1, chat/**, already matches all of its channels. Move it with --add 'chat/*' … --at 1.\n";
  const added = await rules(app, "--add=chat/*", "--messages=5", "--seconds=60");
  expect([added.exitCode, added.stderr]).toEqual([0, note]);
  const shown = await rules(app, "--json");
  expect([JSON.parse(shown.stdout).channelRules.length, shown.stderr]).toEqual([2, note]);
  const moved = await rules(app, "--add=chat/*", "--messages=5", "--seconds=60", "--at=1", "--yes");
  expect([moved.exitCode, moved.stderr]).toEqual([0, ""]);
});

test("all rules are replaced from a file or from stdin", async () => {
  const app = await newApp();
  const file = join(folder, "rules.json");
  writeFileSync(file, JSON.stringify([{ pattern: "a" }, { pattern: "b", graceSec: 1 }]));
  expect((await rules(app, "--set", file)).exitCode).toBe(0);
  expect(await patternsOf(app)).toEqual(["a", "b"]);
  const { channelRules } = await json<Rules>(`apps rules ${app}`);
  const stdin = JSON.stringify(channelRules.toReversed());
  expect((await parley(["apps", "rules", app, "--set", "-"], { env: cli.server.env, stdin })).exitCode).toBe(0);
  expect(await patternsOf(app)).toEqual(["b", "a"]);
});

test("what is wrong is refused with the flag or the field, and changes nothing", async () => {
  const app = await newApp();
  await rules(app, "--add=kept", "--grace=1");
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return `--set=${join(folder, name)}`;
  };
  const cases: [flags: string[], exitCode: number, text: string][] = [
    [["--add=a", "--remove=b"], 2, "--add and --remove cannot be used together"],
    [["--messages=5"], 2, "--messages describes a rule: name its pattern with --add"],
    [["--add=a", "--messages=5"], 2, "history needs both --messages and --seconds"],
    [
      ["--add=a"],
      2,
      "the rule would change nothing: give it --messages and --seconds, --stream-seconds and --stream-bytes, or --grace",
    ],
    [["--add=a", "--messages=5", "--seconds=7w"], 2, '--seconds is "7w"; it must be a number of seconds, or a time'],
    [["--add=a", "--grace=5", "--at=0"], 2, "--at is 0; positions start at 1"],
    [["--add=", "--grace=5"], 2, "--add must not be empty"],
    [["--remove=other"], 2, "no rule has the pattern other; the patterns are kept"],
    [["--set=/nowhere/rules.json"], 2, "--set /nowhere/rules.json cannot be read"],
    [[file("broken.json", "[")], 2, "broken.json is not JSON"],
    [[file("object.json", "{}")], 2, "object.json must contain a JSON list of rules"],
    [["--add=a***", "--grace=5"], 1, "channelRules.1.pattern: a pattern must not contain '***'"],
    [["--add=a", "--grace=121"], 1, "channelRules.1.graceSec: must be a whole number from 0 to 120"],
    [["--add=a", "--messages=5", "--seconds=31d"], 1, "channelRules.1.history.seconds: must be a whole number from"],
    [[file("unknown.json", '[{"pattern":"a","grace":5}]')], 1, "channelRules.0.grace: there is no such field"],
  ];
  for (const [flags, exitCode, text] of cases) {
    const ended = await rules(app, ...flags);
    expect([flags, ended.exitCode, ended.stdout]).toEqual([flags, exitCode, ""]);
    expect(ended.stderr).toContain(text);
  }
  expect(await patternsOf(app)).toEqual(["kept"]);
});

test("without a terminal, a change that may remove stored messages needs --yes, and others do not", async () => {
  const app = await newApp();
  const file = join(folder, "fewer.json");
  const [few, many] = [
    ["--messages=10", "--seconds=60"],
    ["--messages=50", "--seconds=1h"],
  ] as const;
  expect((await rules(app, "--add=a", ...few)).exitCode).toBe(0);
  expect((await rules(app, "--add=a", ...many)).exitCode).toBe(0);
  expect((await rules(app, "--add=b", ...few)).exitCode).toBe(0);
  const before = await json<Rules>(`apps rules ${app}`);
  writeFileSync(file, JSON.stringify(before.channelRules.slice(0, 1)));
  for (const change of [["--remove=a"], ["--add=a", ...few], ["--add=**", ...many, "--at=1"], ["--set", file]]) {
    const { exitCode, stdout, stderr } = await rules(app, ...change);
    expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringContaining("may lose stored messages")]);
    expect(stderr).toContain("add --yes");
  }
  expect(await json<Rules>(`apps rules ${app}`)).toEqual(before);
  expect((await rules(app, "--set", file, "--yes")).exitCode).toBe(0);
  expect(await patternsOf(app)).toEqual(["a"]);
});

test("the size of histories is part of the plan", async () => {
  const app = await newApp();
  expect((await run(`apps plan ${app} --max-history-bytes 2097152 --yes`)).stdout).toMatch(/^history at most +2 MiB$/m);
  expect(await json(`apps show ${app}`)).toMatchObject({ maxHistoryBytes: 2_097_152 });
  expect((await run(`apps plan ${app} --max-recording-bytes-total 5368709120`)).stdout).toMatch(
    /^recordings at most +5 GiB$/m,
  );
  expect(await json(`apps show ${app}`)).toMatchObject({ maxRecordingBytesTotal: 5_368_709_120 });
});
