/** For tests: how many rows statements read on PostgreSQL, as the plans of the database itself count them. */
import type { SQL } from "bun";
import type { Store } from "../contract/store.ts";
import { databaseOf } from "./recordings.ts";

export interface PlanNode {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The most rows that one step of the plan reads. */
export const rowsRead = (node: PlanNode): number =>
  Math.max(
    (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0)) *
      node["Actual Loops"],
    ...(node.Plans ?? []).map(rowsRead),
  );

/** Every statement that a call makes, with its values. */
async function statementsOf(store: Store, call: () => Promise<unknown>): Promise<[string, unknown[]][]> {
  const { pool } = databaseOf(store) as unknown as { pool: SQL };
  const made: [string, unknown[]][] = [];
  const unsafe = pool.unsafe.bind(pool);
  Object.assign(pool, {
    unsafe: (text: string, values: unknown[]) => {
      made.push([text, values]);
      return unsafe(text, values);
    },
  });
  await call();
  Object.assign(pool, { unsafe });
  return made;
}

/** The most rows that one statement of these calls reads. */
export async function mostRowsOf(store: Store, calls: readonly (() => Promise<unknown>)[]): Promise<number> {
  let most = 0;
  for (const call of calls)
    for (const [text, values] of await statementsOf(store, call)) {
      const rows = await databaseOf(store).run((sql) => sql.unsafe(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values));
      const [{ Plan }] = rows[0]["QUERY PLAN"] as [{ Plan: PlanNode }];
      most = Math.max(most, rowsRead(Plan));
    }
  return most;
}
