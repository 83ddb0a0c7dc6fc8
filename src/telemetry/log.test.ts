import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { type Log, makeLog } from "./log.ts";
import { LINES_PER_REASON, LOG_REASONS_MAX, LOG_WINDOW_MS } from "./log-rate.ts";

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly leftOut?: number;
  readonly err?: { readonly message: string };
}

function setup() {
  const lines: Line[] = [];
  const clock = new FakeClock();
  const log = makeLog("debug", "json", "n", (line) => lines.push(JSON.parse(line) as Line), clock);
  return { lines, clock, log };
}

const failure = (code: string): Error => Object.assign(new Error("no"), { code });

test("a few lines per reason are written, then one that counts the rest, then a new window begins", () => {
  const { lines, clock, log } = setup();
  for (let i = 0; i < 500; i++) log.error({ requestId: String(i), err: failure("E") }, "a request failed");
  expect(lines).toHaveLength(LINES_PER_REASON);
  clock.advance(LOG_WINDOW_MS);
  const leftOut = 500 - LINES_PER_REASON;
  expect(lines).toHaveLength(LINES_PER_REASON + 1);
  expect(lines.at(-1)).toMatchObject({
    level: "error",
    leftOut,
    msg: `and ${leftOut} more like this: a request failed`,
  });
  log.error({ err: failure("E") }, "a request failed");
  expect(lines).toHaveLength(LINES_PER_REASON + 2);
});

test("lines within the rate are all written, without a line that counts", () => {
  const { lines, clock, log } = setup();
  for (let i = 0; i < 50; i++) {
    log.warn("slow");
    clock.advance(LOG_WINDOW_MS / LINES_PER_REASON);
  }
  expect(lines).toHaveLength(50);
  expect(lines.some(({ leftOut }) => leftOut !== undefined)).toBe(false);
});

test("many lines of one reason do not hide another level, message, route, cause or kind of error", () => {
  const { lines, log } = setup();
  for (let i = 0; i < 100; i++) log.error({ route: "/a", err: failure("E") }, "failed");
  log.error({ route: "/b", err: failure("E") }, "failed");
  log.error({ route: "/a", err: failure("F") }, "failed");
  log.warn({ route: "/a", err: failure("E") }, "failed");
  log.error({ route: "/a", err: failure("E") }, "failed otherwise");
  log.error({ route: "/a", cause: "TypeError at hub.ts:1", err: failure("E") }, "failed");
  expect(lines).toHaveLength(LINES_PER_REASON + 5);
});

test("reasons beyond the maximum share one window, so that memory stays bounded", () => {
  const { lines, clock, log } = setup();
  for (let i = 0; i < 10_000; i++) log.error(`reason ${i}`);
  expect(lines).toHaveLength(LOG_REASONS_MAX + LINES_PER_REASON);
  clock.advance(LOG_WINDOW_MS);
  log.error("a reason of the next minute");
  expect(lines.at(-1)?.msg).toBe("a reason of the next minute");
});

test("lines of level info and debug are never left out", () => {
  const { lines, log } = setup();
  for (let i = 0; i < 100; i++) {
    log.info({ audit: "key created" }, "key created");
    log.debug({ route: "/x" }, "request");
  }
  expect(lines).toHaveLength(200);
});

test("an error that quotes its input is cut", () => {
  const { lines, log } = setup();
  log.error({ err: new Error("x".repeat(100_000)) }, "failed");
  expect(lines[0]?.err?.message.length).toBeLessThan(5000);
});

test("on a terminal, times are local; in JSON they are in UTC", () => {
  const code = `
    const { makeLog } = await import(${JSON.stringify(join(import.meta.dir, "log.ts"))});
    const shown = [];
    for (const format of ["pretty", "json"]) makeLog("info", format, "n", (line) => shown.push(line)).info("x");
    const utc = new Date(JSON.parse(shown[1]).time);
    console.log(Number(shown[0].slice(0, 2)), utc.getUTCHours());`;
  // 14 hours ahead, all year.
  const { stdout } = Bun.spawnSync([process.execPath, "--no-env-file", "-e", code], {
    env: { TZ: "Pacific/Kiritimati" },
  });
  const [local, utc] = String(stdout).trim().split(" ").map(Number);
  expect(local).toBe((Number(utc) + 14) % 24);
});

describe("an error on a terminal", () => {
  const pretty = (level: string, log: (to: Log) => void): string => {
    let text = "";
    log(makeLog(level, "pretty", "n", (line) => (text += line)));
    return text;
  };
  const away = Object.assign(new Error("Failed\nto connect"), { code: "ERR_POSTGRES_CONNECTION_REFUSED" });

  test("is one line with its message, without the stack", () => {
    const text = pretty("info", (log) => log.error({ err: away, route: "/x" }, "the store is not responding"));
    expect(text).toEndWith(
      " the store is not responding: Failed to connect (ERR_POSTGRES_CONNECTION_REFUSED) route=/x\n",
    );
    expect(text.split("\n")).toHaveLength(2);
  });

  test("has a stack of several lines at level debug, and when the process ends", () => {
    for (const text of [
      pretty("debug", (log) => log.error({ err: away }, "failed")),
      pretty("info", (log) => log.fatal({ err: away }, "failed")),
    ]) {
      expect(text).toMatch(/\n +at .*log\.test\.ts:\d+/);
      expect(text).not.toContain("\\n");
    }
  });

  test("cannot control the terminal", () => {
    const text = pretty("debug", (log) => log.error({ err: new Error("\u001b[2Jx"), who: "\u001b[2J" }, "failed"));
    expect(text).toContain("\\u001b[2Jx");
    expect(text).not.toContain("\u001b[2J");
  });

  test("and every other text shows its characters as they are, and none that hides or turns others", () => {
    const marks = [
      "\u001b[31m",
      "\u009b2J",
      "\n",
      "\r",
      "\u202e",
      "\u2066",
      "\u061c",
      "\u2028",
      "\u200b",
      "\ufeff",
      "\u{e0041}",
    ];
    for (const mark of marks) {
      const odd = `a${mark}b`;
      const err = Object.assign(new Error(odd), { code: odd, stack: `Error: ${odd}\n    at x` });
      const text = pretty("debug", (log) =>
        log.error({ err, recording: odd, nested: { [odd]: odd }, [odd]: 1 }, `it failed: ${odd}`),
      );
      const own = text
        .replaceAll("\u001b[31m", (found, at: number) => (at < 20 ? "" : found))
        .replaceAll("\u001b[0m", "");
      // What is left of an error's own line breaks is indented, so that it cannot be taken for a line of the log.
      expect([mark, own.split("\n").filter((line) => /^\S/.test(line)).length]).toEqual([mark, 1]);
      expect([mark, mark !== "\n" && own.includes(mark)]).toEqual([mark, false]);
    }
    const shown = pretty("info", (log) => log.warn({ who: "\u{1f469}\u200d\u{1f680} नमस्ते" }, "ok"));
    expect(shown).toContain("\u{1f469}\u200d\u{1f680} नमस्ते");
  });

  test("is as safe in JSON, with the same values", () => {
    const lines: string[] = [];
    const odd = "\u009b2J\u202eb\u{e0041}\u2028";
    makeLog("info", "json", "n", (line) => lines.push(line)).warn({ who: odd }, odd);
    expect(lines.join("")).toMatch(/^[ -~]+\n$/);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ who: odd, msg: odd });
  });

  test("that is no Error is shown as it is", () => {
    expect(pretty("info", (log) => log.warn({ err: "odd" }, "failed"))).toEndWith(" failed err=odd\n");
  });
});
