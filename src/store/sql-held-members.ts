/** The notes about held members on SQL. */
import type { Database } from "./database.ts";
import type { HeldMemberStore, HeldMembersNote } from "./held-members.ts";
import type { DbRow } from "./rows.ts";

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

  async read(nowMs: number, node?: string): Promise<HeldMembersNote | undefined> {
    const newest: DbRow[] = await this.database.run((sql) =>
      node === undefined
        ? sql`SELECT node, until_ms FROM held_members WHERE until_ms > ${nowMs} ORDER BY until_ms DESC, node LIMIT 1`
        : sql`SELECT node, until_ms FROM held_members WHERE until_ms > ${nowMs} AND node = ${node} LIMIT 1`,
    );
    const [first] = newest;
    if (!first) return undefined;
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`SELECT members FROM held_members WHERE node = ${String(first.node)} ORDER BY part`,
    );
    return { untilMs: Number(first.until_ms), texts: rows.map(({ members }) => String(members)) };
  }
}
