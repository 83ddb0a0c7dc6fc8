/** Small calls on files that the folder of recordings needs. */
import { open, stat } from "node:fs/promises";

/** undefined: there is no such file. */
export async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** A file, or a folder: a name is safe when its folder is. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  await handle.sync().finally(() => handle.close());
}

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");
export const isAbsent = (error: unknown): boolean => codeOf(error) === "ENOENT";
/** No room, no room for this user, a file that may not grow. */
export const isFull = (error: unknown): boolean => ["ENOSPC", "EDQUOT", "EFBIG"].includes(codeOf(error));
