/** The lobby on SQL. The column `ticket` has the waitId, a digest of the ticket; `gone_since` has when the visitor was last seen. */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import type { LobbyLimits, LobbyStore, WaitingRow } from "../../contract/meetings.ts";
import type { Database } from "../../engines/database.ts";
import { appId, type DbRow, searchable } from "../../engines/rows.ts";
import type { Outbox } from "../webhooks/outbox.ts";
import type { ReservedPlaces } from "./reserved-places.ts";
import { toWaiting } from "./rows.ts";

interface LobbyRoom {
  readonly app: AppId;
  readonly room: string;
}

export class SqlLobby implements LobbyStore {
  constructor(
    protected readonly database: Database,
    protected readonly places: ReservedPlaces,
    protected readonly outbox: Outbox,
  ) {}

  wait(row: WaitingRow, { max, perAddress, perSite }: LobbyLimits): Promise<"waiting" | "full"> {
    return this.database.quickTransaction(async (tx) => {
      await this.places.lock(tx, row.app, row.room);
      const [counted]: DbRow[] = await tx`
        SELECT COUNT(*) AS known, SUM(CASE WHEN ticket = ${row.waitId} THEN 1 ELSE 0 END) AS own,
          SUM(CASE WHEN state = 'waiting' THEN 1 ELSE 0 END) AS waiting,
          SUM(CASE WHEN address = ${row.address} AND state <> 'admitted' THEN 1 ELSE 0 END) AS near,
          SUM(CASE WHEN site = ${row.site} AND state <> 'admitted' THEN 1 ELSE 0 END) AS of_site,
          (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = ${row.app}) AS is_hooked
        FROM lobby_tickets WHERE app = ${row.app} AND room = ${row.room}`;
      if (Number(counted?.own) > 0) return "waiting";
      if (Number(counted?.waiting) >= max || Number(counted?.near) >= perAddress) return "full";
      if (Number(counted?.of_site) >= perSite) return "full";
      await tx`
        INSERT INTO lobby_tickets (ticket, app, room, name, address, site, since, gone_since, state, decided)
        VALUES (${row.waitId}, ${row.app}, ${row.room}, ${row.name}, ${row.address}, ${row.site}, ${row.since},
          ${row.seen}, ${row.state}, ${row.decided})`;
      if (Number(counted?.is_hooked) === 1) await this.tellWaiting(tx, row);
      return "waiting";
    });
  }

  private async tellWaiting(tx: SQL, { app, room, name, since }: WaitingRow): Promise<void> {
    const [named]: DbRow[] = await tx`SELECT name FROM rooms WHERE id = ${searchable(room)} AND app = ${app}`;
    const roomName = named ? String(named.name) : "";
    const fact = { type: "participant.waiting", waiting: { room, name, since }, roomName } as const;
    await this.outbox.add(tx, { app, subject: room, happened: since, webhook: null, fact });
  }

  async waiting(app: AppId, room: string): Promise<readonly WaitingRow[]> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT * FROM lobby_tickets WHERE app = ${app} AND room = ${room} AND state = 'waiting' ORDER BY since, ticket`,
    );
    return rows.map(toWaiting);
  }

  async waitingOne(waitId: string): Promise<WaitingRow | undefined> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`SELECT * FROM lobby_tickets WHERE ticket = ${searchable(waitId)}`,
    );
    return rows.map(toWaiting)[0];
  }

  async decide(waitId: string, state: "admitted" | "declined", nowMs: number): Promise<WaitingRow | undefined> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        UPDATE lobby_tickets SET state = ${state}, decided = ${nowMs}
        WHERE ticket = ${searchable(waitId)} AND state = 'waiting' RETURNING *`,
    );
    return rows.map(toWaiting)[0];
  }

  async setSeen(waitId: string, seen: number): Promise<void> {
    await this.database.quickRun(
      (sql) => sql`UPDATE lobby_tickets SET gone_since = ${seen} WHERE ticket = ${searchable(waitId)}`,
    );
  }

  /** As MeetingStore.bringBack. `latest`: times behind it are those of a clock that was ahead. */
  protected async bringLobbyBack(nowMs: number, latest: number): Promise<void> {
    await this.database.quickTransaction(async (tx) => {
      // As in forgetWaiting.
      await this.places.lock(tx, "", "lobby");
      await tx`UPDATE lobby_tickets SET since = ${nowMs} WHERE since > ${latest}`;
      await tx`UPDATE lobby_tickets SET gone_since = ${nowMs} WHERE gone_since > ${latest}`;
      await tx`UPDATE lobby_tickets SET decided = ${nowMs} WHERE decided > ${latest}`;
    });
  }

  /** Removes some visitors of a deleted application, and returns how many. */
  protected clearLobby(app: AppId, limit: number): Promise<number> {
    return this.database.quickTransaction(async (tx) => {
      // As in forgetWaiting.
      await this.places.lock(tx, "", "lobby");
      const rows: DbRow[] = await tx`
        DELETE FROM lobby_tickets WHERE ticket IN (SELECT ticket FROM lobby_tickets WHERE app = ${app} LIMIT ${limit})
        RETURNING ticket`;
      return rows.length;
    });
  }

  async forgetWaiting(sinceMs: number, seenMs: number, declinedMs: number): Promise<readonly LobbyRoom[]> {
    const gone: DbRow[] = await this.database.quickTransaction(async (tx) => {
      // One node at a time: two that remove the same rows in different orders would deadlock. No room has this lock.
      await this.places.lock(tx, "", "lobby");
      return tx`
        DELETE FROM lobby_tickets
        WHERE since < ${sinceMs} OR (gone_since < ${seenMs} AND state <> 'declined')
          OR (state = 'declined' AND decided < ${declinedMs})
        RETURNING app, room, state`;
    });
    return queuesOf(gone);
  }

  async unseen(seenMs: number, limit: number): Promise<readonly string[]> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT ticket FROM lobby_tickets WHERE gone_since < ${seenMs} AND state <> 'declined'
        ORDER BY gone_since LIMIT ${limit}`,
    );
    return rows.map(({ ticket }) => String(ticket));
  }

  async forgetUnseen(seenMs: number, waitIds: readonly string[]): Promise<readonly LobbyRoom[]> {
    if (waitIds.length === 0) return [];
    const gone: DbRow[] = await this.database.quickTransaction(async (tx) => {
      // As in forgetWaiting.
      await this.places.lock(tx, "", "lobby");
      return tx`
        DELETE FROM lobby_tickets
        WHERE ticket IN ${tx([...waitIds])} AND gone_since < ${seenMs} AND state <> 'declined'
        RETURNING app, room, state`;
    });
    return queuesOf(gone);
  }
}

/** The rooms whose queue is shorter without these rows. */
function queuesOf(gone: readonly DbRow[]): readonly LobbyRoom[] {
  const rooms = new Map<string, LobbyRoom>();
  for (const { app, room, state } of gone)
    if (state === "waiting") rooms.set(`${app}/${room}`, { app: appId(app), room: String(room) });
  return [...rooms.values()];
}
