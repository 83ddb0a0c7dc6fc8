/** File operations that the folder of recordings needs. */
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

/** Flushes a file, or a folder: a new name is durable once its folder is flushed. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  await handle.sync().finally(() => handle.close());
}

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");
export const isAbsent = (error: unknown): boolean => codeOf(error) === "ENOENT";
/** The disk is full, the user's quota is used up, or the file may not grow. */
export const isFull = (error: unknown): boolean => ["ENOSPC", "EDQUOT", "EFBIG"].includes(codeOf(error));
/** Permissions, or a file system that is mounted read-only. */
export const isForbidden = (error: unknown): boolean => ["EACCES", "EPERM", "EROFS"].includes(codeOf(error));
