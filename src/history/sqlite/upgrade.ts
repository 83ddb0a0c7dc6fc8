/**
 * What comes before a change of the schema of `history.sqlite`: a copy, if there is room. Without one the way back costs the stored messages,
 * but no key, so it does not keep a service from starting.
 */
import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { duration } from "../../base/duration.ts";
import { humanBytes } from "../../base/human-bytes.ts";
import { CopyBeforeUpgrade, lackOfRoom, type UpgradeLog } from "../../store/before-upgrade.ts";

/** A copy that is not needed may take this share of the free space. */
const SHARE_OF_FREE = 1 / 2;

/** How large a copy is, at most, and why there is no room for one, as a clause; undefined: there is. */
export const lackOfRoomForHistory = (dataFolder: string, bytes: number): string | undefined =>
  lackOfRoom({ dataFolder, bytes: bytes / SHARE_OF_FREE });

/** Announces the change from schema `from` to `to`, and copies the file. Call what it returns when the change is made. Throws if the file is damaged. */
export function beforeUpgrade(
  db: Database,
  path: string,
  { from, to }: { readonly from: number; readonly to: number },
  log: UpgradeLog,
  isDamage: (error: unknown) => boolean,
): () => void {
  const beganMs = performance.now();
  log.info(`upgrading the history: schema ${from} → ${to}`);
  let copied: string | undefined;
  try {
    copied = copy(db, dirname(path), from, log);
  } catch (error) {
    if (isDamage(error)) throw error;
    log.warn(
      `history.sqlite could not be copied before its upgrade (${(error as Error).message}); upgrading without a copy`,
    );
  }
  return () => {
    const back = copied === undefined ? "" : `; a copy of the old history is in ${copied}`;
    log.info(`the history was upgraded to schema ${to}, in ${duration(performance.now() - beganMs)}${back}`);
  };
}

/** undefined: there is no room, which is in the log. */
function copy(db: Database, dataFolder: string, schema: number, log: UpgradeLog): string | undefined {
  const bytes = usedBytes(db);
  const lack = lackOfRoomForHistory(dataFolder, bytes);
  if (lack !== undefined) {
    log.warn(
      `history.sqlite (${humanBytes(bytes)}) is upgraded without a copy: ${lack}. To go back to the previous version, start without history: move the file away`,
    );
    return undefined;
  }
  const copying = new CopyBeforeUpgrade({ dataFolder, store: "history", schema, bytes });
  try {
    db.prepare("VACUUM INTO ?").run(copying.path);
    return copying.finish();
  } catch (error) {
    copying.abandon();
    throw error;
  }
}

function usedBytes(db: Database): number {
  const number = (pragma: string): number =>
    Object.values(db.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get() ?? {})[0] ?? 0;
  return (number("page_count") - number("freelist_count")) * number("page_size");
}
