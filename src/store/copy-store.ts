/**
 * Copies an embedded store in a thread of its own: SQLite does not return before the copy is complete, and meanwhile the command shows how far
 * it is, and hears Ctrl-C.
 */
import { statSync } from "node:fs";

export interface Watch {
  readonly progress?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** Another process has the store open. */
export class CopyBusy extends Error {}

/** The signal came before the copy was complete. */
export class CopyInterrupted extends Error {
  constructor(readonly bytes: number) {
    super("the copy was interrupted");
  }
}

const LOOK_EVERY_MS = 100;

/** As text, because a program of one file has no other file that a thread could load. */
const THREAD = `
import { Database } from "bun:sqlite";
self.onmessage = ({ data: { store, copy } }) => {
  try {
    const db = new Database(store, { readwrite: true, create: false });
    db.run("PRAGMA locking_mode = EXCLUSIVE");
    db.run("BEGIN EXCLUSIVE");
    db.run("COMMIT");
    db.query("VACUUM INTO ?").run(copy);
    db.close();
    postMessage({});
  } catch (error) {
    postMessage({ message: error.message, code: error.code });
  }
};`;

/** `copy` does not exist, or is empty. Throws a CopyBusy, a CopyInterrupted, or an error with what SQLite says. */
export async function copyStore(store: string, copy: string, { progress, signal }: Watch): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const address = URL.createObjectURL(new Blob([THREAD], { type: "application/javascript" }));
  const thread = new Worker(address);
  const size = (): number => statSync(copy, { throwIfNoEntry: false })?.size ?? 0;
  thread.onerror = ({ message }) => reject(new Error(message));
  thread.onmessage = ({ data }: MessageEvent<{ message?: string; code?: string }>) => {
    if (data.message === undefined) resolve();
    else reject(data.code?.startsWith("SQLITE_BUSY") ? new CopyBusy(data.message) : new Error(data.message));
  };
  const interrupt = (): void => reject(new CopyInterrupted(size()));
  signal?.addEventListener("abort", interrupt);
  if (signal?.aborted) interrupt();
  // No boundary: a size that cannot be read counts as none.
  const looking = setInterval(() => progress?.(size()), LOOK_EVERY_MS);
  try {
    thread.postMessage({ store, copy });
    await promise;
  } finally {
    clearInterval(looking);
    signal?.removeEventListener("abort", interrupt);
    thread.terminate();
    URL.revokeObjectURL(address);
  }
}
