/** What a change reads and writes: applications, keys, their secrets, operators and sessions. */
import type { SQL } from "bun";
import type { AppId } from "../../base/ids.ts";
import type { OperatorRow, SessionRow } from "../contract/operators.ts";
import type { AppRow, Change, KeyRow, SecretRow } from "../contract/store.ts";
import type { NewWebhookEvent, WebhookRow, WebhookSecretRow } from "../contract/webhooks.ts";
import { SqlReads } from "./reads.ts";
import type { SqlRooms } from "./rooms.ts";
import type { Outbox } from "./webhooks/outbox.ts";

/** The reads and writes of one transaction. */
export class SqlChange extends SqlReads implements Change {
  constructor(
    private readonly sql: SQL,
    private readonly rooms: SqlRooms,
    private readonly outbox: Outbox,
  ) {
    super((work) => work(sql));
  }

  async putApp(row: AppRow): Promise<void> {
    await this.sql`
      INSERT INTO apps (id, name, secret_sealed, secret_digest, secret_seq, previous_secrets, plan_name,
        max_concurrent_connections, max_messages_per_period, retention_days, console_payloads, channel_rules,
        max_history_bytes, max_stream_bytes, allowed_frame_origins, meeting_retention_days,
        max_recording_bytes_total, created, deleted)
      VALUES (${row.id}, ${row.name}, ${row.secretSealed}, ${row.secretDigest}, ${row.secretSeq},
        ${JSON.stringify(row.previousSecrets)}, ${row.planName}, ${row.maxConcurrentConnections}, ${row.maxMessagesPerPeriod}, ${row.retentionDays}, ${row.consolePayloads ? 1 : 0},
        ${JSON.stringify(row.channelRules)}, ${row.maxHistoryBytes}, ${row.maxStreamBytes}, ${JSON.stringify(row.allowedFrameOrigins)},
        ${row.meetingRetentionDays}, ${row.maxRecordingBytesTotal}, ${row.created}, ${row.deleted})
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, secret_sealed = excluded.secret_sealed,
        secret_digest = excluded.secret_digest, secret_seq = excluded.secret_seq,
        previous_secrets = excluded.previous_secrets, plan_name = excluded.plan_name,
        max_concurrent_connections = excluded.max_concurrent_connections,
        max_messages_per_period = excluded.max_messages_per_period, retention_days = excluded.retention_days,
        console_payloads = excluded.console_payloads, channel_rules = excluded.channel_rules,
        max_history_bytes = excluded.max_history_bytes, max_stream_bytes = excluded.max_stream_bytes,
        allowed_frame_origins = excluded.allowed_frame_origins,
        meeting_retention_days = excluded.meeting_retention_days,
        max_recording_bytes_total = excluded.max_recording_bytes_total, deleted = excluded.deleted`;
  }

  async putKey(row: KeyRow): Promise<void> {
    const origins = row.allowedOrigins === null ? null : JSON.stringify(row.allowedOrigins);
    await this.sql`
      INSERT INTO keys (id, app, type, label, channel_patterns, actions, allowed_origins, turn, created, rotated,
        revoked)
      VALUES (${row.id}, ${row.app}, ${row.type}, ${row.label}, ${JSON.stringify(row.channelPatterns)},
        ${JSON.stringify(row.actions)}, ${origins}, ${row.turn ? 1 : 0}, ${row.created}, ${row.rotated}, ${row.revoked})
      ON CONFLICT (id) DO UPDATE SET label = excluded.label, channel_patterns = excluded.channel_patterns,
        actions = excluded.actions, allowed_origins = excluded.allowed_origins, turn = excluded.turn, rotated = excluded.rotated,
        revoked = excluded.revoked`;
  }

  async putSecret(row: SecretRow): Promise<void> {
    await this.sql`
      INSERT INTO key_secrets (key_id, seq, sealed, digest, created, ends)
      VALUES (${row.keyId}, ${row.seq}, ${row.sealed}, ${row.digest}, ${row.created}, ${row.ends})
      ON CONFLICT (key_id, seq) DO UPDATE SET ends = excluded.ends`;
  }

  async removeSecret(keyId: string, seq: number): Promise<void> {
    await this.sql`DELETE FROM key_secrets WHERE key_id = ${keyId} AND seq = ${seq}`;
  }

  async removeSecretsOfKey(keyId: string): Promise<void> {
    await this.sql`DELETE FROM key_secrets WHERE key_id = ${keyId}`;
  }

  async removeSecretsOfApp(app: AppId): Promise<void> {
    await this.sql`DELETE FROM key_secrets WHERE key_id IN (SELECT id FROM keys WHERE app = ${app})`;
  }

  async archiveRooms(app: AppId, nowMs: number): Promise<void> {
    await this.sql`UPDATE room_counters SET live = 0 WHERE app = ${app}`;
    await this.sql`
      UPDATE rooms SET archived = ${nowMs}, version = version + 1 WHERE app = ${app} AND archived IS NULL`;
    this.rooms.changed();
  }

  async putMeta(name: string, value: string): Promise<void> {
    await this.sql`
      INSERT INTO meta (name, value) VALUES (${name}, ${value})
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  }

  async putOperator(row: OperatorRow): Promise<void> {
    await this.sql`
      INSERT INTO operators (id, name, role, digest, created, last_used, revoked)
      VALUES (${row.id}, ${row.name}, ${row.role}, ${row.digest}, ${row.created}, ${row.lastUsed}, ${row.revoked})
      ON CONFLICT (id) DO UPDATE SET revoked = excluded.revoked`;
  }

  async putSession(row: SessionRow): Promise<void> {
    await this.sql`
      INSERT INTO dashboard_sessions (digest, operator, credential, created, ends)
      VALUES (${row.digest}, ${row.operator}, ${row.credential}, ${row.created}, ${row.ends})`;
  }

  async removeSession(digest: string): Promise<void> {
    await this.sql`DELETE FROM dashboard_sessions WHERE digest = ${digest}`;
  }

  async putWebhook(row: WebhookRow): Promise<void> {
    const patterns = row.channelPatterns === null ? null : JSON.stringify(row.channelPatterns);
    await this.sql`
      INSERT INTO webhooks (id, app, kind, url, events, channel_patterns, description, header_names, headers_sealed,
        created, disabled, disabled_why)
      VALUES (${row.id}, ${row.app}, ${row.kind}, ${row.url}, ${JSON.stringify(row.events)}, ${patterns},
        ${row.description}, ${JSON.stringify(row.headerNames)}, ${row.headersSealed}, ${row.created}, ${row.disabled},
        ${row.disabledWhy})
      ON CONFLICT (id) DO UPDATE SET url = excluded.url, events = excluded.events,
        channel_patterns = excluded.channel_patterns, description = excluded.description,
        header_names = excluded.header_names, headers_sealed = excluded.headers_sealed, disabled = excluded.disabled,
        disabled_why = excluded.disabled_why`;
    await this.outbox.hook(this.sql, row.app);
  }

  async removeWebhook(id: string): Promise<void> {
    await this.sql`DELETE FROM webhook_secrets WHERE webhook = ${id}`;
    await this.sql`DELETE FROM webhooks WHERE id = ${id}`;
  }

  async removeWebhooksOfApp(app: AppId): Promise<void> {
    await this.sql`DELETE FROM webhook_secrets WHERE webhook IN (SELECT id FROM webhooks WHERE app = ${app})`;
    await this.sql`DELETE FROM webhooks WHERE app = ${app}`;
    await this.sql`DELETE FROM webhook_apps WHERE app = ${app}`;
  }

  async putWebhookSecret(row: WebhookSecretRow): Promise<void> {
    await this.sql`
      INSERT INTO webhook_secrets (webhook, seq, sealed, created, ends)
      VALUES (${row.webhook}, ${row.seq}, ${row.sealed}, ${row.created}, ${row.ends})
      ON CONFLICT (webhook, seq) DO UPDATE SET ends = excluded.ends`;
  }

  async removeWebhookSecret(webhook: string, seq: number): Promise<void> {
    await this.sql`DELETE FROM webhook_secrets WHERE webhook = ${webhook} AND seq = ${seq}`;
  }

  addWebhookEvent(event: NewWebhookEvent): Promise<void> {
    return this.outbox.add(this.sql, event);
  }
}
