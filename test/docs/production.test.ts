/** docs/production.md and `parley doctor` have the same list. */
import { expect, test } from "bun:test";
import { COMMANDS } from "../../src/cli/commands/all.ts";
import { parseCommand } from "../../src/cli/dispatch.ts";
import { CHECKS } from "../../src/cli/doctor-checks.ts";
import { readPage } from "./support/page.ts";

const page = readPage("docs/production.md");
const rows = [...page.matchAll(/^\| ([\w .-]+) \| .+ \| (.+) \|$/gm)].slice(1);

test("every check of doctor is explained, and the page has no other", () => {
  const named = rows.map(([, name = ""]) => name);
  expect(named.toSorted()).toEqual([...CHECKS].toSorted());
});

test("the commands it names are commands", () => {
  const commands = [...page.matchAll(/`parley ([^`]+)`/g)].map(([, words = ""]) =>
    words.replaceAll("'", "").split(" "),
  );
  expect(commands.length).toBeGreaterThan(5);
  for (const words of commands) {
    const command = COMMANDS.find(({ name }) => words.join(" ").startsWith(name));
    expect([words.join(" "), command?.name]).toEqual([words.join(" "), expect.any(String)]);
    // Whole ones must also be understood.
    if (words.length > (command?.name.split(" ").length ?? 0))
      expect(parseCommand(words).command.name).toBe(command?.name ?? "");
  }
});
