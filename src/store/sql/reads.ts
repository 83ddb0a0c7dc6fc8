/** Reads of applications, keys, their secrets, operators and sessions, inside a change or outside. */
import type { AppId } from "../../base/ids.ts";
import type { OperatorRow, SessionRow } from "../contract/operators.ts";
import type { AppRow, KeyRow, Reads, SecretRow } from "../contract/store.ts";
import type { WebhookRow, WebhookSecretRow } from "../contract/webhooks.ts";
import type { Run } from "../engines/database.ts";
import { type DbRow, searchable, toApp, toKey, toOperator, toSecret, toSession } from "../engines/rows.ts";
import { toWebhook, toWebhookSecret } from "./webhooks/rows.ts";

export class SqlReads implements Reads {
  constructor(protected readonly run: Run) {}

  async app(idOrName: string): Promise<AppRow | undefined> {
    const rows: DbRow[] = await this.run(
      (sql) =>
        sql`SELECT * FROM apps WHERE deleted IS NULL AND (id = ${searchable(idOrName)} OR name = ${searchable(idOrName)})`,
    );
    // A name may be equal to another application's id: the id takes precedence.
    return rows.map(toApp).sort((a) => (a.id === idOrName ? -1 : 1))[0];
  }

  async apps(): Promise<AppRow[]> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM apps WHERE deleted IS NULL ORDER BY id`);
    return rows.map(toApp);
  }

  async appsPage(limit: number, after: string): Promise<AppRow[]> {
    const rows: DbRow[] = await this.run(
      (sql) => sql`
        SELECT * FROM apps WHERE deleted IS NULL AND id > ${searchable(after)} ORDER BY id LIMIT ${limit}`,
    );
    return rows.map(toApp);
  }

  async key(id: string): Promise<KeyRow | undefined> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM keys WHERE id = ${searchable(id)}`);
    return rows.map(toKey)[0];
  }

  async keys(app?: AppId): Promise<KeyRow[]> {
    const rows: DbRow[] = await this.run((sql) =>
      app === undefined
        ? sql`SELECT * FROM keys ORDER BY created, id`
        : sql`SELECT * FROM keys WHERE app = ${app} ORDER BY created, id`,
    );
    return rows.map(toKey);
  }

  async keysPage(limit: number, app?: AppId, after?: string, isRevoked?: boolean): Promise<KeyRow[]> {
    const last = after === undefined ? undefined : await this.key(after);
    const created = last?.created ?? 0;
    const id = last?.id ?? "";
    const [from, to] = isRevoked === undefined ? [0, 1] : [Number(isRevoked), Number(isRevoked)];
    const rows: DbRow[] = await this.run((sql) =>
      app === undefined
        ? sql`
          SELECT * FROM keys WHERE (created > ${created} OR (created = ${created} AND id > ${id})) 
            AND CASE WHEN revoked IS NULL THEN 0 ELSE 1 END IN (${from}, ${to})
          ORDER BY created, id LIMIT ${limit}`
        : sql`
          SELECT * FROM keys WHERE app = ${app} AND (created > ${created} OR (created = ${created} AND id > ${id}))
          AND CASE WHEN revoked IS NULL THEN 0 ELSE 1 END IN (${from}, ${to}) ORDER BY created, id LIMIT ${limit}`,
    );
    return rows.map(toKey);
  }

  async secrets(keyId: string): Promise<SecretRow[]> {
    const rows: DbRow[] = await this.run(
      (sql) => sql`SELECT * FROM key_secrets WHERE key_id = ${keyId} ORDER BY seq DESC`,
    );
    return rows.map(toSecret);
  }

  async meta(name: string): Promise<string | undefined> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT value FROM meta WHERE name = ${name}`);
    return rows[0] === undefined ? undefined : String(rows[0].value);
  }

  async operators(): Promise<OperatorRow[]> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM operators WHERE revoked IS NULL ORDER BY id`);
    return rows.map(toOperator);
  }

  async operator(id: string): Promise<OperatorRow | undefined> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM operators WHERE id = ${searchable(id)}`);
    return rows.map(toOperator)[0];
  }

  async sessions(): Promise<SessionRow[]> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM dashboard_sessions ORDER BY created, digest`);
    return rows.map(toSession);
  }

  async webhooksOf(app?: AppId): Promise<WebhookRow[]> {
    const rows: DbRow[] = await this.run((sql) =>
      app === undefined
        ? sql`SELECT * FROM webhooks ORDER BY created, id`
        : sql`SELECT * FROM webhooks WHERE app = ${app} ORDER BY created, id`,
    );
    return rows.map(toWebhook);
  }

  async webhook(id: string): Promise<WebhookRow | undefined> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM webhooks WHERE id = ${searchable(id)}`);
    return rows.map(toWebhook)[0];
  }

  async webhookSecrets(webhook: string): Promise<WebhookSecretRow[]> {
    const rows: DbRow[] = await this.run(
      (sql) => sql`SELECT * FROM webhook_secrets WHERE webhook = ${searchable(webhook)} ORDER BY seq DESC`,
    );
    return rows.map(toWebhookSecret);
  }
}
