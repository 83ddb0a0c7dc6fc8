/**
 * What a run needs to be finished by a later page, in a small file beside its bytes. Each version is a new file, and the older one is removed
 * after that: a page that is killed in between leaves at least one that is whole.
 */
import type { RunOpening, Source } from "./contract.ts";
import type { DiskFolder } from "./disk.ts";

export interface RunNotes extends RunOpening {
  /** As the service has begun it. */
  readonly upload?: { readonly id: string; readonly url: string };
}

const NAME = /^notes-(\d{1,9})$/;
const MAX_BYTES = 128 * 1024;
const SOURCES: readonly Source[] = ["camera", "microphone", "screen"];

export async function writeNotes(folder: DiskFolder, notes: RunNotes): Promise<void> {
  const earlier = await versionsIn(folder);
  const file = await folder.open(`notes-${(earlier.at(-1) ?? 0) + 1}`);
  try {
    file.write(new TextEncoder().encode(JSON.stringify(notes)), 0);
  } finally {
    file.close();
  }
  for (const version of earlier) await folder.remove(`notes-${version}`);
}

/** undefined: there are none that can be read. */
export async function readNotes(folder: DiskFolder): Promise<RunNotes | undefined> {
  for (const version of (await versionsIn(folder)).reverse()) {
    const file = await folder.open(`notes-${version}`);
    try {
      const notes = parsed(new TextDecoder().decode(file.read(Math.min(file.size(), MAX_BYTES), 0)));
      if (notes) return notes;
    } finally {
      file.close();
    }
  }
  return undefined;
}

async function versionsIn(folder: DiskFolder): Promise<number[]> {
  const names = await folder.names();
  return names
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

function parsed(text: string): RunNotes | undefined {
  try {
    const notes = JSON.parse(text) as Partial<RunNotes>;
    const { run, roomName, stay, token, source, startedMs } = notes;
    const isWhole = [run, roomName, stay, token].every((one) => typeof one === "string");
    return isWhole && SOURCES.some((one) => one === source) && typeof startedMs === "number"
      ? (notes as RunNotes)
      : undefined;
  } catch {
    return undefined;
  }
}
