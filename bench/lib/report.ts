/** Measurements: medians, a table for the terminal, a result file. */
import { mkdirSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";

const RESULTS = join(import.meta.dir, "../results");

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** Plain text: the first column is aligned to the left, numbers to the right. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heads, ...rows];
  const widths = heads.map((_head, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ");
  return [line(heads), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

/** The machine that was measured: results compare only with others of the same machine. */
export const machine = () => ({ bun: Bun.version, cpu: cpus()[0]?.model ?? "unknown", cores: availableParallelism() });

/** bench/results/<name>-<date>.json, without a name <date>.json; a second run of a day replaces the first. */
export async function keep(name: string, result: object): Promise<string> {
  mkdirSync(RESULTS, { recursive: true });
  const now = new Date().toISOString();
  const file = `${name && `${name}-`}${now.slice(0, 10)}.json`;
  await Bun.write(join(RESULTS, file), `${JSON.stringify({ at: now, ...machine(), ...result }, null, 2)}\n`);
  return `bench/results/${file}`;
}
