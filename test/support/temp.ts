/** Temporary folders for tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `npm test` has its temporary folders in memory (memory-folder.ts). On the disk, files can be linked to those of the project. */
export const DISK = process.env.PARLEY_TEST_DISK ?? tmpdir();

/** For a folder that outlives one test; the suite removes it. */
export const tempFolder = (parent = tmpdir()): string => mkdtempSync(join(parent, "parley-test-"));

export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** `using folder = scratch()`: removed at the end of the test, also when it fails. */
export function scratch(parent?: string): Disposable & { readonly path: string } {
  const path = tempFolder(parent);
  return { path, [Symbol.dispose]: () => removeFolder(path) };
}
