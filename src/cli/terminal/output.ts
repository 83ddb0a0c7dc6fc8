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
    await write(Bun.stdout, this.json ? objects.map(jsonLine).join("") : printableLines(text));
    for (const note of notes) await write(Bun.stderr, `${escaped(asTyped(note, this.flags))}\n`);
  }

  async failure({ code, message }: FailureReport): Promise<void> {
    const said = asTyped(message, this.flags);
    await write(Bun.stderr, this.json ? jsonLine({ error: code, message: said }) : `parley: ${escaped(said)}\n`);
  }

  /** Help for a command line without a command. */
  async guide(text: string): Promise<void> {
    await write(Bun.stderr, text);
  }
}

export async function write(to: Bun.BunFile, text: string): Promise<void> {
  if (text === "") return;
  try {
    await Bun.write(to, text);
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

/** Between columns. */
const GAP = "  ";

const cellText = (cell: Cell): string => (cell == null || cell === "" ? "-" : escaped(String(cell)));

/** Rows with aligned columns. On a terminal that is too narrow for them, each row is a block with a line per cell. */
export function table(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns = columnsOf(process.stdout),
): string {
  const lines = [head, ...rows.map((row) => row.map(cellText))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))));
  const total = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  if (columns !== undefined && total > columns) return rows.map((row) => block(head, row, columns)).join("\n");
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, at) => pad(cell, widths[at] ?? 0))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join("");
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
