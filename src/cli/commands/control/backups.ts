/** `parley backups …`: those that a service keeps itself, in the place of PARLEY_BACKUP_TO. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../../base/clock.ts";
import { humanBytes } from "../../../base/human-bytes.ts";
import { openTarget } from "../../../durable/targets/open.ts";
import { bytesOf, controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { Interrupt } from "../../terminal/interrupt.ts";
import { fields, table, time } from "../../terminal/output.ts";
import { Progress } from "../../terminal/progress.ts";

const ROOT = "/backups";

interface Backup {
  readonly name: string;
  readonly bytes: number;
  readonly at: number;
}

/** As far as this command shows it; null for the role read. */
interface State {
  readonly target: { readonly place: string | null } | null;
  readonly everySeconds: number | null;
  readonly nextAt: number | null;
  readonly health: "ok" | "failed" | "late" | null;
  readonly making: { readonly isHere: boolean; readonly bytes: number | null; readonly total: number | null } | null;
  readonly lastSuccess: { readonly at: number } | null;
  readonly lastFailure: { readonly at: number; readonly why: string | null } | null;
  readonly failures: number;
  readonly notRemoved: string | null;
  readonly data: readonly Backup[] | null;
  readonly problem: string | null;
}

const backupPath = (input: Input): string => `${ROOT}/${encodeURIComponent(input.operand(0))}`;

export async function list(input: Input): Promise<CommandResult> {
  const state = await controlPlane(input).get<State>(ROOT);
  const data = state.data ?? [];
  const rows = data.map(({ name, bytes, at }) => [name, time(at), humanBytes(bytes)]);
  const text = data.length === 0 ? "" : table(["BACKUP", "MADE", "SIZE"], rows);
  return { value: data, text, notes: notesOf(state), refused: state.problem !== null };
}

function notesOf(state: State): string[] {
  const { target, data, making, lastFailure, failures, notRemoved, problem } = state;
  if (!target)
    return [
      "This service keeps no backups: set PARLEY_BACKUP_TO, and PARLEY_BACKUP_EVERY for a schedule (docs/backups.md).",
    ];
  const notes = [scheduleOf(state)];
  if (data === null) notes.unshift("Listing them needs the role admin.");
  else if (problem !== null) notes.unshift(`The backups cannot be listed: ${problem}.`);
  else if (data.length === 0) notes.unshift("There are no backups yet.");
  if (making) notes.push(`One is running${making.isHere ? "" : " on another node"}${shareOf(making)}.`);
  if (failures > 0 && lastFailure)
    notes.push(`The last attempt failed at ${time(lastFailure.at)}${lastFailure.why ? `: ${lastFailure.why}` : ""}.`);
  if (notRemoved !== null) notes.push(`Old ones could not be deleted: ${notRemoved}.`);
  return notes;
}

function scheduleOf({ everySeconds, nextAt, health }: State): string {
  if (everySeconds === null) return "No schedule: PARLEY_BACKUP_EVERY is not set.";
  const late = health === "late" ? " None has succeeded for twice that time." : "";
  return `One runs every ${everySeconds} s; the next is due at ${time(nextAt ?? undefined)}.${late}`;
}

const shareOf = ({ bytes, total }: NonNullable<State["making"]>): string =>
  bytes === null || total === null || total === 0 ? "" : `: ${humanBytes(bytes)} of about ${humanBytes(total)}`;

export async function start(input: Input): Promise<CommandResult> {
  const started = await controlPlane(input).post<{ started: number; place: string }>(ROOT);
  return {
    value: started,
    text: fields({ started: time(started.started), place: started.place }),
    notes: ['"parley backups list" shows how far it is, and whether it has succeeded.'],
  };
}

export async function download(input: Input): Promise<CommandResult> {
  const name = input.operand(0);
  const file = await fileFor(input.operand(1) || name, name);
  const { wallMs: nowMs } = systemClock;
  const target = await openTarget(file, { env: input.env, nowMs, force: input.isOn("force") });
  using interrupt = new Interrupt();
  const { bytes } = await target.write(target.nameAt(nowMs()), received(input, interrupt.signal), {
    signal: interrupt.signal,
  });
  return {
    value: { name, file, bytes },
    text: fields({ name, file, bytes }),
    notes: ['Check it without changing anything that runs: "parley restore FILE --data /tmp/restored".'],
  };
}

/** A folder gets it under its own name. */
const fileFor = async (given: string, name: string): Promise<string> =>
  (await stat(given).catch(() => undefined))?.isDirectory() ? join(given, name) : given;

/** Begins when the target asks for the first bytes: a file that exists already is refused without a download. */
async function* received(input: Input, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const response = await controlPlane(input).stream(backupPath(input), signal, { type: "application/octet-stream" });
  const progress = new Progress(Number(response.headers.get("x-parley-bytes") ?? 0));
  let bytes = 0;
  try {
    for await (const chunk of bytesOf(response, signal)) {
      bytes += chunk.length;
      progress.at(bytes);
      yield chunk;
    }
  } finally {
    progress.end();
  }
}

export async function remove(input: Input): Promise<CommandResult> {
  const server = controlPlane(input);
  const name = input.operand(0);
  await confirm(input, `delete the backup ${name}`);
  const deleted = await server.delete<Backup & { deleted: number }>(backupPath(input));
  return {
    value: deleted,
    text: fields({ name, bytes: deleted.bytes, made: time(deleted.at), deleted: time(deleted.deleted) }),
  };
}
