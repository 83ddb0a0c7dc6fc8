/**
 * Structured logs. Secrets stay out by construction: nothing logs a URL, a header or a body. The redaction below is the
 * second wall, for the field names under which one could slip in.
 *
 * Warnings and errors have a rate per reason (log-rate.ts), because some can be caused by anybody who can reach the port. Lines of
 * level info are written by starts, timers and holders of the admin token only, and audit lines must not be dropped; level
 * debug is switched on to see every request.
 */
import { writeSync } from "node:fs";
import pino, { type Logger } from "pino";
import { type LogClock, LogRate } from "./log-rate.ts";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error" | "fatal" | "isLevelEnabled">;

const SECRET_FIELDS = ["secret", "secretKey", "token", "adminToken", "masterKey", "password", "authorization"];
/** An error's message may quote what a client has sent. */
const ERROR_TEXT_MAX_CHARS = 4000;

const systemClock: LogClock = {
  monotonicMs: () => performance.now(),
  after: (ms, callback) => void setTimeout(callback, ms).unref(),
};

export function makeLog(
  level: string,
  format: "auto" | "json" | "pretty",
  nodeId: string,
  write: (line: string) => void = toStandardOutput,
  clock: LogClock = systemClock,
): Log {
  const pretty = format === "pretty" || (format === "auto" && process.stdout.isTTY === true);
  const log = pino(
    {
      level,
      base: { node: nodeId },
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: boundedError },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "(hidden)" },
    },
    { write: (line: string) => write(pretty ? prettyLine(line) : line) },
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

/** Tells causes apart that share a message: a flood of one must not hide another. Never the error's text, which may vary. */
function kindOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return typeof code === "string" ? code : typeof name === "string" ? name : typeof error;
}

const boundedError = (error: Error): object =>
  Object.fromEntries(
    Object.entries(Object(pino.stdSerializers.err(error))).map(([name, value]) => [
      name,
      typeof value === "string" && value.length > ERROR_TEXT_MAX_CHARS
        ? `${value.slice(0, ERROR_TEXT_MAX_CHARS)}… (cut)`
        : value,
    ]),
  );

function toStandardOutput(line: string): void {
  try {
    writeSync(1, line);
  } catch {
    // Nobody reads our output any more: no reason to stop serving.
  }
}

const COLORS: Readonly<Record<string, number>> = { debug: 90, info: 36, warn: 33, error: 31, fatal: 31 };

function prettyLine(line: string): string {
  const { time, level, msg, node: _node, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const fields = Object.entries(rest).map(
    ([key, value]) => ` ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const label = `\u001b[${COLORS[String(level)] ?? 0}m${String(level).padEnd(5)}\u001b[0m`;
  return `${clock} ${label} ${msg}${fields.join("")}\n`;
}
