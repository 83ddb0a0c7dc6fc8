/** Which schema `history.sqlite` has, without opening it, as src/store/found.ts does for the store. */
import { existsSync } from "node:fs";
import { UnreadableFile, withPages } from "../../store/engines/sqlite-pages.ts";
import { historyFile } from "./file.ts";

export interface FoundHistory {
  /** 0: there is none, or it is damaged: a start sets it aside and begins a new one. */
  readonly schema: number;
  /** How large a copy of it is, at most. */
  readonly bytes: number;
  readonly isDamaged: boolean;
}

export function foundHistory(dataFolder: string): FoundHistory {
  const path = historyFile(dataFolder);
  const none = { schema: 0, bytes: 0, isDamaged: false };
  if (!existsSync(path)) return none;
  try {
    const header = withPages(path, (pages) => pages.header);
    if (!header) return none;
    const { userVersion, pages, freePages, pageBytes } = header;
    return { schema: userVersion, bytes: (pages - freePages) * pageBytes, isDamaged: false };
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return { ...none, isDamaged: true };
  }
}
