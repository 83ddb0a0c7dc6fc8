/** Rows about who uses the control plane: operators, sessions of the dashboard, and the audit of changes. */
import type { AppId } from "../../base/ids.ts";

export interface OperatorRow {
  readonly id: string;
  readonly name: string;
  readonly role: "admin" | "read";
  /** The digest of the operator's token. */
  readonly digest: string;
  readonly created: number;
  readonly lastUsed: number | null;
  readonly revoked: number | null;
}

export interface SessionRow {
  /** The digest of the cookie's value. */
  readonly digest: string;
  /** null: the session was made with the admin token. */
  readonly operator: string | null;
  /** Derived from the token that the session was made with; the session ends when that token changes. */
  readonly credential: string;
  readonly created: number;
  readonly ends: number;
}

export interface AuditRow {
  /** Ordered by time. */
  readonly id: string;
  readonly at: number;
  readonly who: string;
  readonly what: string;
  readonly on: string;
  readonly app: AppId | null;
  readonly address: string | null;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  /** The application itself made the change, with a secret key of its own. */
  readonly byApp: boolean;
}

export interface AuditQuery {
  readonly limit: number;
  /** The id of the last row of the page before. */
  readonly after?: string | undefined;
  readonly app?: AppId | undefined;
  readonly who?: string | undefined;
  readonly what?: string | undefined;
}

export interface AuditStore {
  /** Writes all rows or none. */
  add(rows: readonly AuditRow[]): Promise<void>;
  /** Newest first. */
  list(query: AuditQuery): Promise<AuditRow[]>;
  /** Removes at most `max` rows from before that time; returns how many. */
  removeBefore(ms: number, max: number): Promise<number>;
  /** Removes changes that an application made itself, at most `max` of those beyond the newest `kept`; returns how many. */
  trim(app: AppId, kept: number, max: number): Promise<number>;
}
