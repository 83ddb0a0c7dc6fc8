/**
 * Structured logs. Secrets stay out by construction: nothing logs a URL, a header or a body. The redaction below is the
 * second wall, for the field names under which one could slip in.
 */
import { writeSync } from "node:fs";
import pino, { type Logger } from "pino";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error" | "fatal" | "isLevelEnabled">;

const SECRET_FIELDS = ["secret", "secretKey", "token", "adminToken", "masterKey", "password", "authorization"];

export function makeLog(level: string, format: "auto" | "json" | "pretty", nodeId: string): Log {
  const pretty = format === "pretty" || (format === "auto" && process.stdout.isTTY === true);
  const write = (line: string): void => {
    try {
      writeSync(1, pretty ? prettyLine(line) : line);
    } catch {
      // Nobody reads our output any more: no reason to stop serving.
    }
  };
  return pino(
    {
      level,
      base: { node: nodeId },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "(hidden)" },
    },
    { write },
  );
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
