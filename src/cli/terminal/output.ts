/** Prints results on stdout and everything else on stderr: aligned text for people, JSON for scripts. */
import { printable, printableLines } from "../../telemetry/printable.ts";
import type { CommandResult } from "../line/command.ts";
import type { FailureReport } from "../line/errors.ts";
import { asTyped } from "./hints.ts";
import { columnsOf, wrapped } from "./width.ts";

export class Output {
  private flags: ReadonlyMap<string, string> = new Map();

  constructor(private readonly json: boolean) {}

  /** The flags of the command line, when it has been understood: hints repeat some of them. */
  follow(flags: ReadonlyMap<string, string>): void {
    this.flags = flags;
  }

  async result({ value, text, notes = [] }: CommandResult): Promise<void> {
    const objects: readonly object[] = Array.isArray(value) ? value : [value];
    await write(Bun.stdout, this.json ? objects.map(jsonLine).join("") : wholeLines(printableLines(text)));
    for (const note of notes) await write(Bun.stderr, `${escaped(asTyped(note, this.flags))}\n`);
  }

  async failure({ code, message }: FailureReport): Promise<void> {
    const said = asTyped(message, this.flags);
    await write(Bun.stderr, this.json ? jsonLine({ error: code, message: said }) : `parley: ${escaped(said)}\n`);
  }

  /** Help for a command line without a command. */
  async guide(text: string): Promise<void> {
    await write(Bun.stderr, wholeLines(text));
  }
}

/** What goes to a pipe or a file ends with a newline, so that what follows begins a line. */
const wholeLines = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/** Bound: one per stream. */
const sinks = new WeakMap<Bun.BunFile, Bun.FileSink>();

/**
 * Resolves when all of it is written. By a sink: once process.stdout has been asked for anything, such as its width, pipes do not block, and
 * Bun.write would send what fits into one, and then everything again.
 */
export async function write(to: Bun.BunFile, text: string): Promise<void> {
  if (text === "") return;
  const sink = sinks.get(to) ?? to.writer();
  sinks.set(to, sink);
  try {
    // What is longer than its buffer goes out at once, and fails here.
    await sink.write(text);
    await sink.flush();
  } catch (error) {
    // `parley keys list | head -1`: the reader has closed the pipe because it has what it needs.
    if ((error as { code?: string }).code === "EPIPE") process.exit(0);
    throw error;
  }
}

/** A text by an outsider, as one line that a terminal only shows. */
export const escaped = printable;

/** The value of a cell; null and undefined are printed as a dash. */
export type Cell = string | number | null | undefined;

/** JSON that is as safe to print as text: an escape within a string does not change its value. */
export const jsonLine = (value: object): string => `${escaped(JSON.stringify(value))}\n`;

/** Text that may be shortened to fit a terminal: no number, and no id or name that one would copy. */
export interface Prose {
  readonly prose: string;
}
/** The name of a column of a table. */
export type Heading = string | Prose;

/** Between columns. */
const GAP = "  ";
/** Less of a text says nothing. */
const PROSE_MIN_COLUMNS = 12;

const cellText = (cell: Cell): string => (cell == null || cell === "" ? "-" : escaped(String(cell)));

/**
 * Rows with aligned columns. On a terminal that is too narrow for them, prose is shortened; if that is not enough, each row is a block with
 * a line per cell.
 */
export function table(
  headings: readonly Heading[],
  rows: readonly (readonly Cell[])[],
  columns = columnsOf(process.stdout),
): string {
  const head = headings.map((one) => (typeof one === "string" ? one : one.prose));
  const lines = [head, ...rows.map((row) => row.map(cellText))];
  const whole = head.map((_, column) => Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))));
  const isProse = headings.map((one) => typeof one !== "string");
  const widths = columns === undefined ? whole : fitted(whole, isProse, columns);
  if (widths === undefined) return rows.map((row) => block(head, row, columns ?? 0)).join("\n");
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, at) => pad(shortened(cell, widths[at] ?? 0), widths[at] ?? 0))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join("");
}

/** The widths with which the table fits: the widest column of prose gives up what is too much, then the next. undefined: it does not fit. */
function fitted(
  widths: readonly number[],
  isProse: readonly boolean[],
  columns: number,
): readonly number[] | undefined {
  const fit = [...widths];
  const excess = (): number => fit.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - columns;
  const places = fit.keys().filter((at) => isProse[at]);
  for (const at of [...places].sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))) {
    const width = fit[at] ?? 0;
    fit[at] = Math.max(Math.min(width, PROSE_MIN_COLUMNS), width - Math.max(0, excess()));
  }
  return excess() > 0 ? undefined : fit;
}

function shortened(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let kept = "";
  for (const character of text) {
    if (Bun.stringWidth(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/** Without the cells that have nothing. */
const block = (head: readonly string[], row: readonly Cell[], columns: number): string =>
  fields(
    Object.fromEntries(
      head.map((name, at) => [name.toLowerCase() || "#", String(row[at] ?? "").trim() === "" ? undefined : row[at]]),
    ),
    columns,
  );

/** One object, with a name and a value per line. Undefined values are left out. */
export function fields(pairs: Readonly<Record<string, Cell>>, columns = columnsOf(process.stdout)): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => wrapped(`${name.padEnd(width)}${GAP}`, cellText(value), columns)).join("");
}

const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));

/** Unix seconds as a UTC time. */
export const time = (seconds: number | undefined): string | undefined =>
  seconds === undefined ? undefined : new Date(seconds * 1000).toISOString().replace("T", " ").replace(".000Z", "Z");

/** The same for a time of the application API, which is a text. */
export const isoTime = (text: string): string | undefined =>
  Number.isNaN(Date.parse(text)) ? text : time(Math.floor(Date.parse(text) / 1000));

export const listed = (items: readonly string[] | undefined): string | undefined =>
  items && (items.length === 0 ? "none" : items.join(", "));
