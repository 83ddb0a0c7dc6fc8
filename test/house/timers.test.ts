/** No timer without a boundary: an exception that leaves one drains the node. */
import { describe, expect, test } from "bun:test";
import { sourcesIn } from "../support/declarations.ts";
import { commentAt } from "./comments.ts";

/** Folders whose timers need none, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  "src/cli/": "programs that end with their command",
  "src/verify/": "a client, not a node",
  "src/engine/cluster/": "has its own boundary, which reports to the node's",
  "src/workers/":
    "catches what starting a process throws; everything else resolves a promise, sends or kills, which do not throw",
};

const RULE = `A timer of a node runs inside a boundary (faults.guarded(…), this.boundary.…) or only resolves a promise. For another one, a
comment with "No boundary:" directly above it says why it cannot throw.`;

const TIMER = /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\(\s*/g;
/** What it calls: inside a boundary, or the function `resolve` of a promise. */
const SAFE = /^(?:[\w.]*guarded\(|\(\) => this\.boundary\.|resolve\b|\(\) => resolve\((?:undefined)?\))/;

/** `file:line: the line` of each timer that is neither inside a boundary nor says why it needs none. */
function unguarded(file: string, text: string): string[] {
  const lines = text.split("\n");
  return [...text.matchAll(TIMER)].flatMap(({ 0: call, index }) => {
    const at = text.slice(0, index).split("\n").length - 1;
    const isSafe = SAFE.test(text.slice(index + call.length)) || commentAt(lines, at).includes("No boundary:");
    return isSafe ? [] : [`${file}:${at + 1}: ${lines[at]?.trim()}`];
  });
}

test("every timer of a node is inside a boundary, or says why not", () => {
  const sources = [...sourcesIn("src")].filter(([file]) => !Object.keys(WITHOUT).some((part) => file.startsWith(part)));
  expect(sources.length).toBeGreaterThan(300);
  const found = sources.flatMap(([file, text]) => unguarded(file, text));
  expect(found, `${RULE}\n${found.join("\n")}\n`).toEqual([]);
});

describe("a timer", () => {
  test.each([
    "setTimeout(() => this.tick(), 5);",
    "// Every second.\nthis.timer = setInterval(\n  () => this.tick(),\n  1000,\n);",
    "// No boundary: it cannot throw.\nthis.begin();\nqueueMicrotask(() => this.tick());",
    "setImmediate(resolved);",
    "setTimeout(() => resolve(this.measure()), 5);",
  ])("without a boundary is found: %j", (text) => {
    expect(unguarded("a.ts", text)).toHaveLength(1);
  });

  test.each([
    'setInterval(faults.guarded("timer", measure), 5);',
    "setTimeout(\n  () => this.boundary.run(work),\n  5,\n);",
    "await new Promise((resolve) => setImmediate(resolve));",
    "const timer = setTimeout(() => resolve(undefined), 5);",
    "// No boundary: it cannot throw.\nthis.timer = setInterval(() => this.tick(), 5);",
  ])("with one, or with a reason, is not: %j", (text) => {
    expect(unguarded("a.ts", text)).toEqual([]);
  });
});
