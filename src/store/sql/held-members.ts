/** The notes about held members on SQL. */
import {
  type HeldMemberStore,
  type HeldMembersNote,
  STOPPED_TOGETHER_MS,
  TAKEN_TEXTS_MAX,
} from "../contract/held-members.ts";
import type { Database } from "../engines/database.ts";
import type { DbRow } from "../engines/rows.ts";

export class SqlHeldMembers implements HeldMemberStore {
  constructor(private readonly database: Database) {}

  put(node: string, { untilMs, texts }: HeldMembersNote, nowMs: number): Promise<void> {
    return this.database.transaction(async (tx) => {
      await tx`DELETE FROM held_members WHERE until_ms <= ${nowMs} OR node = ${node}`;
      for (const [part, members] of texts.entries())
        await tx`
          INSERT INTO held_members (node, part, until_ms, members) VALUES (${node}, ${part}, ${untilMs}, ${members})`;
    });
  }

  async read(nowMs: number, node: string): Promise<HeldMembersNote | undefined> {
    const rows: DbRow[] = await this.database.run(
      (sql) =>
        sql`SELECT until_ms, members FROM held_members WHERE until_ms > ${nowMs} AND node = ${node} ORDER BY part`,
    );
    const [first] = rows;
    return first && { untilMs: Number(first.until_ms), texts: rows.map(({ members }) => String(members)) };
  }

  /** The notes of the nodes that have stopped last, unless they have ended. */
  async all(nowMs: number): Promise<HeldMembersNote | undefined> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        SELECT until_ms, members FROM held_members WHERE until_ms > ${nowMs}
        ORDER BY until_ms DESC, node, part LIMIT ${TAKEN_TEXTS_MAX}`,
    );
    const [newest] = rows;
    if (!newest) return undefined;
    const untilMs = Number(newest.until_ms);
    const together = rows.filter((row) => Number(row.until_ms) > untilMs - STOPPED_TOGETHER_MS);
    return { untilMs, texts: together.map(({ members }) => String(members)) };
  }

  async take(nowMs: number): Promise<HeldMembersNote | undefined> {
    const note = await this.all(nowMs);
    if (note && !this.database.isShared)
      await this.database.transaction(async (tx) => void (await tx`DELETE FROM held_members`));
    return note;
  }

  drop(untilMs: number): Promise<void> {
    return this.database.transaction(
      async (tx) => void (await tx`DELETE FROM held_members WHERE until_ms <= ${untilMs}`),
    );
  }
}
