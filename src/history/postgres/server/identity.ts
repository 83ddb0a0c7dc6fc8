/**
 * Which PostgreSQL server answers: its system identifier and its timeline, which a failover or a restore changes. What an earlier
 * server had acknowledged may then be lost. A server that does not let us read them is not compared.
 */
import { SQL } from "bun";
import { StandbyAnswered } from "./connections.ts";

type Fact = "system" | "timeline";

/** The timeline of a standby would be that of its primary. */
const STANDBY = "standby";

export class ServerIdentity {
  private readonly known: Partial<Record<Fact, string>> = {};
  /** Bound: registered at the start. */
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Throws if a standby answers. */
  async compare(sql: SQL): Promise<void> {
    const facts = {
      system: await readable(sql`SELECT system_identifier::TEXT AS value FROM pg_control_system()`),
      timeline: await readable(
        sql`SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS value`,
      ),
    };
    if (facts.timeline === STANDBY) throw new StandbyAnswered("the server is a standby");
    let isChanged = false;
    for (const fact of ["system", "timeline"] as const) {
      const value = facts[fact];
      if (value === undefined) continue;
      isChanged ||= this.known[fact] !== undefined && this.known[fact] !== value;
      this.known[fact] = value;
    }
    if (isChanged) for (const listener of this.listeners) listener();
  }
}

/** SQLSTATE of a missing permission. */
const FORBIDDEN = "42501";

async function readable(query: Promise<{ value: string | null }[]>): Promise<string | undefined> {
  try {
    return (await query)[0]?.value ?? undefined;
  } catch (error) {
    if (error instanceof SQL.PostgresError && String(error.errno) === FORBIDDEN) return undefined;
    throw error;
  }
}
