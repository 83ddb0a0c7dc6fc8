/**
 * Structured logs. Secrets stay out because nothing logs a URL, a header or a body. The redaction below is a second protection, for
 * field names that could contain one, and for errors of libraries, which quote addresses (hidden.ts).
 *
 * Warnings and errors have a rate per reason (log-rate.ts), because any client that can reach the port can cause some. Level info
 * has no rate: only starts, timers and holders of the admin token write it, and audit lines must not be dropped. Nor has level
 * debug, which is switched on to see every request.
 */
import { writeSync } from "node:fs";
import pino, { type Logger } from "pino";
import { systemClock } from "../base/clock.ts";
import { hasColours } from "../base/colours.ts";
import { withoutCredentials } from "./hidden.ts";
import { type LogClock, LogRate } from "./log-rate.ts";
import { printable, printableLines } from "./printable.ts";
import { WholeLines } from "./whole-lines.ts";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error" | "fatal" | "isLevelEnabled">;

const SECRET_FIELDS = ["secret", "secretKey", "token", "adminToken", "masterKey", "password", "authorization"];
/** The message of an error may quote input of any length. */
const ERROR_TEXT_MAX_CHARS = 4000;

const logClock: LogClock = {
  monotonicMs: systemClock.monotonicMs,
  // No boundary: it writes a log line, which does not throw.
  after: (ms, callback) => void setTimeout(callback, ms).unref(),
};

export function makeLog(
  level: string,
  format: "auto" | "json" | "pretty",
  /** `worker`: the slot of a worker, where several run. */
  from: string | { readonly node: string; readonly worker: number },
  write: (line: string) => void = toStandardOutput,
  clock: LogClock = logClock,
): Log {
  const pretty = format === "pretty" || (format === "auto" && process.stdout.isTTY === true);
  // In this order: to look at stdout loads the streams of the runtime.
  const isColoured = pretty && hasColours(process.stdout, process.env);
  const log = pino(
    {
      level,
      base: typeof from === "string" ? { node: from } : from,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: boundedError },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "(hidden)" },
    },
    {
      // JSON lines too: they are read on terminals, and the escapes do not change their values.
      write: (line: string) =>
        write(pretty ? prettyLine(line, level === "debug" || level === "trace", isColoured) : printableLines(line)),
    },
  );
  const rate = new LogRate(clock);
  return {
    debug: log.debug.bind(log),
    info: log.info.bind(log),
    warn: limited(log, "warn", rate),
    error: limited(log, "error", rate),
    fatal: log.fatal.bind(log),
    isLevelEnabled: log.isLevelEnabled.bind(log),
  };
}

function limited(log: Logger, level: "warn" | "error", rate: LogRate): Logger["warn"] {
  return (first: unknown, second?: unknown): void => {
    const message = String(typeof first === "string" ? first : second);
    const fields = typeof first === "object" && first !== null ? first : {};
    const { route, cause, err } = fields as { route?: unknown; cause?: unknown; err?: unknown };
    const reason = {
      ...(route !== undefined && { route }),
      ...(cause !== undefined && { cause }),
      ...(err !== undefined && { kind: kindOf(err) }),
    };
    const sum = (leftOut: number): void =>
      log[level]({ ...reason, leftOut }, `and ${leftOut} more like this: ${message}`);
    if (rate.allows(`${level} ${message} ${Object.values(reason).join(" ")}`, sum)) log[level](fields, message);
  };
}

/** Distinguishes causes that share a message, so that many lines of one do not hide another. Without the error's text, which varies. */
function kindOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return typeof code === "string" ? code : typeof name === "string" ? name : typeof error;
}

/** Errors of libraries have fields of their own, such as the address of a request; what lies deeper is left out. */
const ERROR_DEPTH_MAX = 3;
const ERROR_ITEMS_MAX = 50;

function safe(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return withoutCredentials(bounded(value));
  if (typeof value !== "object" || value === null) return value;
  if (depth === ERROR_DEPTH_MAX) return "(left out)";
  if (Array.isArray(value)) return value.slice(0, ERROR_ITEMS_MAX).map((one) => safe(one, depth + 1));
  const fields = Object.entries(value).slice(0, ERROR_ITEMS_MAX);
  return Object.fromEntries(fields.map(([name, one]) => [name, safe(one, depth + 1)]));
}

const bounded = (text: string): string =>
  text.length > ERROR_TEXT_MAX_CHARS ? `${text.slice(0, ERROR_TEXT_MAX_CHARS)}… (cut)` : text;

/** What was thrown need not be an Error. */
const boundedError = (error: unknown): unknown => safe(error instanceof Error ? pino.stdSerializers.err(error) : error);

const standardOutput = new WholeLines((bytes) => writeSync(1, bytes));
const toStandardOutput = (line: string): void => standardOutput.add(line);

/** On a terminal, times are those of the clock on the wall; JSON lines are in UTC, with their date. */
const localTime = (at: Date): string =>
  [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":") +
  `.${String(at.getMilliseconds()).padStart(3, "0")}`;

const COLORS: Readonly<Record<string, number>> = { debug: 90, info: 36, warn: 33, error: 31, fatal: 31 };

/** The message of an error is part of the line. Its stack follows, with real line breaks, only if `stacks` is set or the process cannot go on. */
function prettyLine(line: string, stacks: boolean, isColoured: boolean): string {
  const { time, level, msg, node: _node, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const clock = localTime(new Date(String(time)));
  const fields = Object.entries(rest).map(
    ([key, value]) => ` ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const name = printable(String(level)).padEnd(5);
  const label = isColoured ? `\u001b[${COLORS[String(level)] ?? 0}m${name}\u001b[0m` : name;
  const { text, stack } = errorText(err);
  const below = stack !== "" && (stacks || level === "fatal") ? `${indented(stack)}\n` : "";
  return `${clock} ${label} ${printable(`${msg}${text}${fields.join("")}`)}\n${below}`;
}

/** A message with line breaks, as part of a stack, must not look like lines of the log. */
const indented = (stack: string): string =>
  stack
    .split("\n")
    .map((line) => `    ${printable(line)}`)
    .join("\n");

function errorText(err: unknown): { text: string; stack: string } {
  if (err === undefined) return { text: "", stack: "" };
  if (!isError(err)) return { text: ` err=${typeof err === "string" ? err : JSON.stringify(err)}`, stack: "" };
  const { type, message, code, stack } = err;
  const kind = typeof code === "string" ? code : typeof type === "string" && type !== "Error" ? type : "";
  return {
    text: `: ${message.replaceAll(/\s+/g, " ")}${kind === "" ? "" : ` (${kind})`}`,
    stack: typeof stack === "string" ? stack : "",
  };
}

const isError = (value: unknown): value is Record<string, unknown> & { message: string } =>
  typeof value === "object" && value !== null && "message" in value && typeof value.message === "string";
