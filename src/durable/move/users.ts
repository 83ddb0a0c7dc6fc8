/** Who uses a PostgreSQL database: a node that goes on meanwhile would write what a move does not see. */
import type { SQL } from "bun";
import { StoreError } from "../../store/contract/store.ts";

/** Nodes note every five seconds that they are alive. */
const ALIVE_MS = 20_000;

/** `hasNodes`: the table of nodes exists. */
export async function refuseUsers(sql: SQL, place: string, hasNodes: boolean): Promise<void> {
  const sessions: { address: string; sessions: string }[] = await sql`
    SELECT coalesce(host(client_addr), 'its own machine') AS address, count(*) AS sessions FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'parley%' AND application_name <> 'parley-move'
      GROUP BY 1 ORDER BY 1`;
  if (sessions.length === 0) return;
  const from = sessions.map((one) => `${one.address} (connections: ${one.sessions})`).join(", ");
  const nodes: { node: string }[] = hasNodes
    ? await sql`
        SELECT node FROM meeting_nodes
          WHERE beat > (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT - ${ALIVE_MS} ORDER BY node`
    : [];
  const names =
    nodes.length === 0 ? "" : `; alive in the last ${ALIVE_MS / 1000} s: ${nodes.map(({ node }) => node).join(", ")}`;
  throw new StoreError(`Parley is running on ${place}, with connections from ${from}${names}: stop every node first`);
}
