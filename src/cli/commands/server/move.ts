/** `parley move`: all durable state from the data folder to PostgreSQL, and back, with every server stopped. */
import { join } from "node:path";
import { masterKeyFile } from "../../../access/keys/vault.ts";
import { giveToOwner } from "../../../base/give-to-owner.ts";
import { loadForDataFolder } from "../../../config/load.ts";
import { asShellWord } from "../../../config/program.ts";
import type { Config } from "../../../config/settings.ts";
import { EmbeddedSide } from "../../../durable/move/embedded-side.ts";
import { CONTINUE, explained } from "../../../durable/move/failures.ts";
import { type Moved, MoveInterrupted, move, reopen } from "../../../durable/move/move.ts";
import { PostgresSide } from "../../../durable/move/postgres-side.ts";
import type { Side } from "../../../durable/move/side.ts";
import { placeOf } from "../../../store/engines/postgres.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { INTERRUPTED, Interrupt } from "../../terminal/interrupt.ts";
import { fields, table } from "../../terminal/output.ts";
import { StatusLine } from "../../terminal/status-line.ts";

type Direction = "to" | "from";

export async function moveStore(input: Input): Promise<CommandResult> {
  const { config } = loadForDataFolder(input.flags, input.env);
  const ways = (["to", "from", "reopen"] as const).filter((name) => input.isOn(name));
  const [way] = ways;
  if (way === undefined || ways.length > 1)
    throw new UsageError('"parley move" needs one of --to, --from and --reopen. See "parley help move"');
  if (way === "reopen") return reopened(config);
  const url = databaseUrl(input, way, config);
  const place = `PostgreSQL at ${placeOf(url)}`;
  try {
    await using sides = await openSides(way, config.data, url);
    return await watched(input, way, { ...sides, config, url });
  } catch (error) {
    throw explained(error, place);
  } finally {
    giveToOwner(config.data);
  }
}

interface Sides {
  readonly source: Side;
  readonly target: Side;
}

/** The embedded one first: a running server is found at once, without a connection to PostgreSQL. */
async function openSides(way: Direction, data: string, url: string): Promise<Sides & AsyncDisposable> {
  const embedded = await EmbeddedSide.open(data, way === "to" ? "source" : "target");
  try {
    const postgres = await PostgresSide.open(url);
    const [source, target] = way === "to" ? [embedded, postgres] : [postgres, embedded];
    const close = async (): Promise<void> => void (await Promise.all([source.close(), target.close()]));
    return { source, target, [Symbol.asyncDispose]: close };
  } catch (error) {
    await embedded.close();
    throw error;
  }
}

/** "postgres" is the database of the settings. A password that the address lacks is that of the settings for the same user, or PGPASSWORD. */
function databaseUrl(input: Input, way: Direction, { databaseUrl: setting }: Config): string {
  const given = input.required(way);
  if (given === "postgres" && setting === "")
    throw new UsageError(`--${way} postgres is the database of PARLEY_DATABASE_URL, which is not set`);
  const url = URL.parse(given === "postgres" ? setting : given);
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || url.host === "")
    throw new UsageError(
      `--${way} must be postgres://user@host/database, or postgres for the database of PARLEY_DATABASE_URL`,
    );
  if (url.password !== "") return url.href;
  const known = URL.parse(setting);
  const isSame = known?.host === url.host && known.username === url.username;
  // As it is in a URL.
  url.password = isSame ? known.password : encodeURIComponent(input.env.PGPASSWORD ?? "");
  return url.href;
}

interface Work extends Sides {
  readonly config: Config;
  readonly url: string;
}

async function watched(input: Input, way: Direction, work: Work): Promise<CommandResult> {
  const { source, target, config } = work;
  const beganMs = performance.now();
  using interrupt = new Interrupt();
  using line = new StatusLine(input.isOn("quiet"));
  const ends = { from: source.place, to: target.place };
  try {
    const moved = await move({
      source,
      target,
      data: config.data,
      masterKey: config.masterKey,
      command: `parley move --${way} ${withoutPassword(work.url)} --data ${asShellWord(config.data)}`,
      replace: (holds) => replace(input, target.place, holds),
      watch: {
        progress: (phase, name, rows, total) =>
          line.at(`${phase} ${name}: ${rows} of about ${Math.max(rows, total)} rows`),
        says: (text) => void process.stderr.write(`${text}\n`),
        signal: interrupt.signal,
      },
    });
    line.end();
    return resultOf(moved, way, work, (performance.now() - beganMs) / 1000);
  } catch (error) {
    if (!(error instanceof MoveInterrupted)) throw error;
    line.end();
    const { phase, rows } = error;
    return {
      value: { ...ends, verified: false, interrupted: true, phase, rows },
      text: "",
      notes: [
        `Interrupted while ${phase}, after ${rows} rows: ${CONTINUE}. Until then, no server starts on ${target.place}.`,
      ],
      interrupted: true,
    };
  }
}

async function replace(input: Input, place: string, holds: string): Promise<void> {
  if (input.isOn("force")) return;
  // At the question there is nothing to finish.
  const leave = (): never => process.exit(INTERRUPTED);
  process.once("SIGINT", leave);
  await confirm(input, `replace and lose what ${place} holds: ${holds}`);
  process.off("SIGINT", leave);
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  shown.password = "";
  return asShellWord(shown.href);
}

function resultOf(moved: Moved, way: Direction, work: Work, seconds: number): CommandResult {
  const { source, target } = work;
  const { tables, schema, changedTexts } = moved;
  const sum = (name: "rows" | "written" | "removed"): number =>
    Object.values(tables).reduce((total, one) => total + one[name], 0);
  const rounded = Math.round(seconds * 10) / 10;
  const totals = { rows: sum("rows"), written: sum("written"), removed: sum("removed") };
  const shown = Object.entries(tables).filter(([, { rows, removed }]) => rows + removed > 0);
  return {
    value: {
      from: source.place,
      to: target.place,
      verified: true,
      schema,
      ...totals,
      changedTexts,
      seconds: rounded,
      tables,
    },
    text: [
      table(
        ["TABLE", "ROWS", "WRITTEN", "REMOVED"],
        shown.map(([name, one]) => [name, one.rows, one.written, one.removed]),
      ),
      fields({ from: source.place, to: target.place, verified: `${totals.rows} rows are equal`, seconds: rounded }),
    ].join("\n"),
    notes: [...textNotes(changedTexts), ...(way === "to" ? notesTo(moved, work) : notesFrom(moved, work))],
  };
}

const textNotes = (changed: number): string[] =>
  changed === 0
    ? []
    : [`${changed} texts contained the character U+0000, which PostgreSQL cannot store. It was replaced by U+FFFD.`];

function notesTo({ masterKey, tables }: Moved, { source, config, url }: Work): string[] {
  const where = masterKey === "file" ? `the text in ${masterKeyFile(config.data)}` : "the one that is set now";
  return [
    `Start every node with PARLEY_DATABASE_URL=${withoutPassword(url)} and its password, and with PARLEY_MASTER_KEY: ${where}.`,
    ...recordingNotes(tables.recordings?.rows ?? 0, config),
    `${capitalized(source.place)} stays as it was. Servers refuse to start on it; "parley move --reopen" makes it usable again as it is.`,
  ];
}

function notesFrom({ masterKey, tables }: Moved, { source, config }: Work): string[] {
  const path = masterKeyFile(config.data);
  return [
    `Start one server with --data ${asShellWord(config.data)}, without PARLEY_DATABASE_URL.`,
    ...(masterKey === "setting"
      ? [`PARLEY_MASTER_KEY must stay set as it is now, or its value must be in ${path}.`]
      : []),
    ...recordingNotes(tables.recordings?.rows ?? 0, config),
    `${capitalized(source.place)} stays as it was. Nodes refuse to start on it; \`parley move --reopen\` with its PARLEY_DATABASE_URL makes it usable again as it is.`,
  ];
}

/** Their bytes are in the storage. */
function recordingNotes(count: number, { storageUrl, data }: Config): string[] {
  if (count === 0) return [];
  const place = storageUrl === "" ? join(data, "recordings") : "the bucket of PARLEY_STORAGE_URL";
  return [`Recording files are not moved: the new servers must find them in ${place}, as before.`];
}

const capitalized = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

async function reopened(config: Config): Promise<CommandResult> {
  const isEmbedded = config.databaseUrl === "";
  try {
    await using side = disposable(
      isEmbedded ? await EmbeddedSide.open(config.data, "source") : await PostgresSide.open(config.databaseUrl),
    );
    await side.refuseUsers();
    const to = await reopen(side);
    const note =
      to === undefined
        ? `${capitalized(side.place)} was not moved, and can be used.`
        : `${capitalized(side.place)} can be used as it was before the move. It does not include what was written to ${to} since.`;
    return { value: { store: side.place, reopened: to !== undefined, movedTo: to ?? null }, text: "", notes: [note] };
  } catch (error) {
    throw explained(error, `PostgreSQL at ${placeOf(config.databaseUrl)}`);
  }
}

const disposable = (side: Side): Side & AsyncDisposable =>
  Object.assign(side, { [Symbol.asyncDispose]: () => side.close() });
