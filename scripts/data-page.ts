/** The tables of docs/data.md, from the inventory of durable state. */

import { loadConfig } from "../src/config/load.ts";
import { shownSettings } from "../src/config/show.ts";
import type { DurableFile, DurableTable, Moved } from "../src/durable/inventory/entry.ts";
import { BUCKET_OBJECTS, DATA_FILES } from "../src/durable/inventory/files.ts";
import { HISTORY_TABLES, POSTGRES_HISTORY_TABLES, STORE_TABLES } from "../src/durable/inventory/inventory.ts";
import { SUBJECTS } from "../src/durable/inventory/subjects.ts";
import { backupText, type Change, deletionText, limitText } from "../src/durable/report/limit-texts.ts";
import { describe } from "../src/durable/report/report.ts";

const PAGE = "docs/data.md";
const BEGIN = "<!-- Generated from src/durable/inventory by `sh bin/dev scripts/data.ts`; a test compares the two. -->";
const END = "<!-- End of what is generated. -->";

const defaults = new Map(shownSettings(loadConfig(new Map(), {})).map((one) => [one.name, one.default]));
const view = {
  setting: (name: string): string => Number(defaults.get(name)).toLocaleString("en"),
};

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

const changeText = ({ command, setting }: Change): string =>
  command === undefined ? `\`${setting}\`` : `\`${command.replace(/^parley /, "bin/parley ")}\``;

const atAGlance = (): string =>
  table(
    ["what", "kept", "at most", "if the application is deleted"],
    SUBJECTS.map((subject) => {
      const { title, holds, kept, limit, deletion } = describe(subject, view);
      return [`**${title}**: ${holds}`, kept, limit, deletion];
    }),
  );

const changes = (): string =>
  table(
    ["to change how long or how much is kept of", "use"],
    SUBJECTS.flatMap((subject) => {
      const { title, change } = describe(subject, view);
      return change.map((one) => [title.toLowerCase(), changeText(one)]);
    }),
  );

const movedText = (move: Moved | "stays"): string => {
  if (move === "stays") return "stays";
  if (typeof move === "object") return `no: ${move.leftBecause}`;
  return move === "rows" ? "yes" : "yes, converted";
};

const restoreText = ({ restore }: DurableTable | DurableFile): string =>
  typeof restore === "object" ? `emptied: ${restore.emptiedBecause}` : restore;

function rowOf(name: string, one: DurableTable | DurableFile): string[] {
  const { holds, retention, deletion, backup, move } = one;
  return [
    name,
    holds,
    limitText(retention.age, view),
    limitText(retention.amount, view),
    deletionText(deletion),
    backupText(backup),
    restoreText(one),
    movedText(move),
  ];
}

const HEAD = ["holds", "kept", "at most", "if the application is deleted", "in a backup", "in a restore", "in a move"];

const tables = (all: readonly DurableTable[]): string =>
  table(
    ["table", ...HEAD],
    all.map((one) => rowOf(`\`${one.name}\``, one)),
  );

const files = (all: readonly DurableFile[]): string =>
  table(
    ["path", ...HEAD],
    all.map((one) => rowOf(one.paths.map((path) => `\`${path}\``).join(", "), one)),
  );

/** The generated parts of the page, in order. */
const parts = (): readonly string[] => [
  atAGlance(),
  changes(),
  tables(STORE_TABLES),
  tables(HISTORY_TABLES),
  tables(POSTGRES_HISTORY_TABLES),
  files(DATA_FILES),
  files(BUCKET_OBJECTS),
];

/** The page with its tables made anew. Throws if it has another number of places for them. */
export async function dataPage(): Promise<string> {
  const made = parts();
  const pieces = (await Bun.file(PAGE).text()).split(BEGIN);
  if (pieces.length !== made.length + 1)
    throw new Error(`${PAGE} has ${pieces.length - 1} places for generated tables; there are ${made.length}`);
  const [first = "", ...rest] = pieces;
  return rest.reduce(
    (page, piece, at) => `${page}${BEGIN}\n\n${made[at]}\n\n${piece.slice(piece.indexOf(END))}`,
    first,
  );
}
