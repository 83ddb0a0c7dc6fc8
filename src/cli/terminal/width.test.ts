/** Text for terminals of any width, and for programs, which get whole lines. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { parleyCommand } from "../../../test/support/command.ts";
import { Terminal } from "../../../test/support/terminal.ts";
import { withServer } from "../testing/kit.ts";
import { fields, table } from "./output.ts";
import { wrapped } from "./width.ts";

setDefaultTimeout(60_000);

const cli = withServer();

/** What a command prints on a terminal. */
async function shown(line: string, cols: number): Promise<string> {
  await using terminal = new Terminal(parleyCommand(...line.split(" ")), cli.server.env, cols);
  expect([line, await terminal.exited]).toEqual([line, 0]);
  return terminal.text;
}

const longest = (text: string): number => Math.max(...text.split("\n").map((line) => Bun.stringWidth(line)));

test("text is broken at spaces, below where it began; a longer word stays whole", () => {
  expect(wrapped("  ab  ", "one two three four five", 26)).toBe("  ab  one two three four\n      five\n");
  expect(wrapped("", "x".repeat(30), 26)).toBe(`${"x".repeat(30)}\n`);
  // Three characters of two columns each.
  expect(wrapped("", "日本語 日本語 日本語 日本語", 20)).toBe("日本語 日本語 日本語\n日本語\n");
  // No terminal.
  expect(wrapped("", "one two three four five six", undefined)).toBe("one two three four five six\n");
});

test("where too little is left beside a name, longer text begins below it", () => {
  expect(wrapped("  --a-long-name  ", "one two", 30)).toBe("  --a-long-name  one two\n");
  expect(wrapped("  --a-long-name  ", "one two three four five six", 30)).toBe(
    "  --a-long-name\n    one two three four five\n    six\n",
  );
  // Too narrow for any text.
  expect(wrapped("  --a-long-name  ", "one two three four", 22)).toBe("  --a-long-name\n    one two three four\n");
  expect(wrapped("  --a-long-name  ", "one two three four five", 22)).toBe(
    "  --a-long-name\n    one two three four five\n",
  );
});

describe("a table that is wider than the terminal", () => {
  const head = ["", "NAME", "LABEL", "WHAT"];
  const rows = [
    [1, "first", null, "a text with several parts in it"],
    [2, "second", " ", "short"],
  ];

  test("has a block per row, without empty cells", () => {
    expect(table(head, rows, 30)).toBe(
      "#     1\nname  first\nwhat  a text with several\n      parts in it\n\n#     2\nname  second\nwhat  short\n",
    );
  });

  test("is a table where it just fits, and where no terminal is", () => {
    const whole = table(head, rows, undefined);
    expect(whole.split("\n")[1]).toBe("1  first   -      a text with several parts in it");
    const width = longest(whole);
    expect(table(head, rows, width)).toBe(whole);
    expect(table(head, rows, width - 1)).not.toBe(whole);
  });

  test("has its prose shortened if that is enough, and never a name or a number", () => {
    const prose = ["", "NAME", { prose: "LABEL" }, { prose: "WHAT" }];
    expect(table(prose, rows, 40)).toBe(
      "   NAME    LABEL  WHAT\n1  first   -      a text with several p…\n2  second         short\n",
    );
    expect(longest(table(prose, rows, 32))).toBeLessThanOrEqual(32);
    expect(table(prose, rows, 30)).toStartWith("   NAME    LABEL  WHAT\n1  first   -      a text with…\n");
    // 12 columns are the least.
    expect(table(prose, rows, 29)).toBe(table(head, rows, 29));
    expect(table(prose, rows, undefined)).toBe(table(head, rows, undefined));
    expect(table(["ID", { prose: "名" }], [["1", "日本語日本語日本語"]], 16)).toContain("1   日本語日本…");
  });

  test("a value is not cut, whatever the width is", () => {
    expect(fields({ key: "x".repeat(100) }, 40)).toBe(`key  ${"x".repeat(100)}\n`);
  });
});

test("on a terminal of 40 columns the lists of help have no longer lines", async () => {
  for (const line of ["help", "help keys", "help token mint", "help up", "help recordings download"]) {
    const [text = ""] = (await shown(line, 40)).split(/^Examples?$/m);
    // The usage is a command, and stays whole; so do a flag and a long word.
    const [, ...list] = text.split("\n");
    const long = list.filter((one) => Bun.stringWidth(one) > 40 && !/^ *(--\S+ )?\S+$/.test(one));
    expect([line, list.length > 3, long]).toEqual([line, true, []]);
  }
});

test("on a terminal of 80 columns no line of lists and of help is longer, but examples are whole", async () => {
  await cli.json("rooms create standup");
  const lists = ["keys list", "audit", "apps list", "rooms list"];
  for (const line of [...lists, "help", "help keys", "help listen", "help apps rules"]) {
    const [text = ""] = (await shown(line, 80)).split(/^Examples?$/m);
    expect([line, text.length > 50, longest(text) <= 80]).toEqual([line, true, true]);
  }
  expect(await shown("keys list", 80)).toMatch(/^key +pk_live_\w+\napp +demo\ntype +publishable\n/m);
  expect(await shown("help rooms create", 80)).toContain(
    `rooms create board --privacy private --expires 2030-01-31T18:00:00Z --delete-on-expiry on --fields '{"enableChat":false}'\n`,
  );
});

test("a wide terminal and a pipe get the same lines", async () => {
  for (const line of ["keys list --quiet", "rooms list --quiet", "help rooms create"]) {
    const piped = await cli.run(line);
    expect(await shown(line, 500)).toBe(piped.stdout);
  }
});
