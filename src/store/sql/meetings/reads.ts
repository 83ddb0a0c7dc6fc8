/** What is read of meetings and stays. */
import type { SQL } from "bun";
import type { FairQueue } from "../../../base/fair-queue.ts";
import type { AppId } from "../../../base/ids.ts";
import {
  type MeetingPage,
  type MeetingRow,
  type MeetingSearch,
  PEOPLE_COUNTED_MAX,
  type StayRow,
} from "../../contract/meetings.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, numberOrNull, searchable } from "../../engines/rows.ts";
import type { Outbox } from "../webhooks/outbox.ts";
import { SqlLobby } from "./lobby.ts";
import { MeetingPages } from "./pages.ts";
import type { ReservedPlaces } from "./reserved-places.ts";
import { toMeeting, toStay } from "./rows.ts";

export class SqlMeetingReads extends SqlLobby {
  private readonly pages: MeetingPages;

  constructor(database: Database, places: ReservedPlaces, outbox: Outbox, queue: FairQueue) {
    super(database, places, outbox);
    this.pages = new MeetingPages(database, queue);
  }

  async stay(id: string): Promise<StayRow | undefined> {
    const rows: DbRow[] = await this.database.quickRun((sql) => sql`SELECT * FROM stays WHERE id = ${searchable(id)}`);
    return rows.map(toStay)[0];
  }

  async openStays(app: AppId, room: string): Promise<readonly StayRow[]> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT * FROM stays WHERE app = ${app} AND room = ${room} AND ended IS NULL ORDER BY began, id`,
    );
    return rows.map(toStay);
  }

  async inside(app: AppId, room: string): Promise<number> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`SELECT COUNT(*) AS n FROM stays WHERE app = ${app} AND room = ${room} AND ended IS NULL`,
    );
    return Number(rows[0]?.n);
  }

  async insideEach(app: AppId, rooms: readonly string[]): Promise<readonly { room: string; n: number }[]> {
    if (rooms.length === 0) return [];
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT room, COUNT(*) AS n FROM stays WHERE app = ${app} AND room IN ${sql(rooms)} AND ended IS NULL GROUP BY room`,
    );
    return rows.map(({ room, n }) => ({ room: String(room), n: Number(n) }));
  }

  async current(app: AppId, room: string): Promise<MeetingRow | undefined> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`SELECT * FROM meetings WHERE app = ${app} AND room = ${room} AND ended IS NULL`,
    );
    return rows.map(toMeeting)[0];
  }

  latest(app: AppId, room: string): Promise<MeetingRow | undefined> {
    return this.places.latest(app, room);
  }

  async meeting(app: AppId, id: string): Promise<MeetingRow | undefined> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`SELECT * FROM meetings WHERE id = ${searchable(id)} AND app = ${app}`,
    );
    return rows.map(toMeeting)[0];
  }

  async participants(meeting: string, limit: number): Promise<readonly StayRow[]> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`SELECT * FROM stays WHERE meeting = ${meeting} ORDER BY began, id LIMIT ${limit}`,
    );
    return rows.map(toStay);
  }

  async peopleEach(meetings: readonly string[]): Promise<readonly { meeting: string; n: number }[]> {
    if (meetings.length === 0) return [];
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT m.id AS meeting, (
          SELECT COUNT(DISTINCT first.name) FROM (
            SELECT name FROM stays WHERE meeting = m.id ORDER BY began, id LIMIT ${PEOPLE_COUNTED_MAX}
          ) AS first
        ) AS n FROM meetings AS m WHERE m.id IN ${sql(meetings)}`,
    );
    return rows.map(({ meeting, n }) => ({ meeting: String(meeting), n: Number(n) }));
  }

  firstEntry(meeting: string, accessToken: string): Promise<number | undefined> {
    return this.database.quickRun((sql) => this.firstEntryOf(sql, meeting, accessToken));
  }

  protected async firstEntryOf(sql: SQL, meeting: string, accessToken: string | null): Promise<number | undefined> {
    if (accessToken === null) return undefined;
    const rows: DbRow[] = await sql`
      SELECT MIN(began) AS began FROM stays WHERE meeting = ${meeting} AND access_token = ${accessToken}`;
    return numberOrNull(rows[0]?.began) ?? undefined;
  }

  meetings(app: AppId, search: MeetingSearch): Promise<MeetingPage | undefined> {
    return this.pages.page(app, search);
  }

  isBanned(meeting: string, accessToken: string | null, externalUserId: string | null): Promise<boolean> {
    return this.database.quickRun((sql) => this.hasBan(sql, meeting, accessToken, externalUserId));
  }

  protected async hasBan(
    sql: SQL,
    meeting: string,
    accessToken: string | null,
    externalUserId: string | null,
  ): Promise<boolean> {
    const rows: DbRow[] = await sql`
      SELECT kind FROM meeting_bans WHERE meeting = ${meeting}
        AND ((kind = 'token' AND who = ${accessToken}) OR (kind = 'user' AND who = ${externalUserId}))`;
    return rows.length > 0;
  }
}
