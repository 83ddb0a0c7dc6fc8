/**
 * Compares what nodes have written with what was said, and makes events of the difference: connections, then members that have come, then members that
 * have left, then channels that stay empty.
 */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import { GRACE_SECONDS_MAX } from "../../../protocol/limits.ts";
import type { Derived, DeriveOptions } from "../../contract/tracking.ts";
import type { NewWebhookEvent, WebhookFact } from "../../contract/webhooks.ts";
import { appId, type DbRow, numberOrNull, text, textOrNull } from "../../engines/rows.ts";
import type { Outbox } from "./outbox.ts";
import { Tuples } from "./tuples.ts";

/** The reason that receivers see for a connection whose node has gone. */
const NODE_GONE = "the node of this connection has stopped";

/** No member is expected back for longer than its grace: a row that ends later was written by a clock that was set back since. */
const LEFT_AHEAD_MAX_MS = 2 * GRACE_SECONDS_MAX * 1000;

type Limit = Pick<DeriveOptions, "limit">;

/** Collects the events of one transaction. */
export class Said {
  /** Bound: a few per row that is read, DeriveOptions.limit. */
  readonly events: NewWebhookEvent[] = [];
  /** Bound: applications with endpoints, for one call. */
  private readonly asked: ReadonlyMap<AppId, readonly string[]>;

  constructor({ asked }: Pick<DeriveOptions, "asked">) {
    this.asked = new Map(asked);
  }

  say(app: AppId, subject: string, happened: number, fact: WebhookFact): void {
    if (this.asked.get(app)?.includes(fact.type)) this.events.push({ app, subject, happened, fact, webhook: null });
  }
}

export async function derive(tx: SQL, outbox: Outbox, nowMs: number, options: DeriveOptions): Promise<Derived> {
  const { silentMs, limit } = options;
  // A beat that is ahead is from before the clock was set back.
  if (silentMs !== null)
    await tx`
      UPDATE tracked_nodes SET beat = 0
      WHERE beat > 0 AND (beat < ${nowMs - silentMs} OR beat > ${nowMs + silentMs})`;
  const said = new Said(options);
  const counts = [
    await endNodes(tx, nowMs, options),
    await connections(tx, said, options),
    await arrivals(tx, nowMs, said, options),
    await departures(tx, nowMs, said, options),
    await vacancies(tx, nowMs, said, options),
  ];
  await outbox.add(tx, ...said.events);
  return { events: said.events.length, more: counts.some((count) => count >= limit) };
}

/** Closes the rows of nodes that have stopped, then forgets these nodes. */
async function endNodes(tx: SQL, nowMs: number, { limit }: Limit): Promise<number> {
  const gone: DbRow[] = await tx`SELECT node FROM tracked_nodes WHERE beat = 0 LIMIT 1`;
  if (!gone[0]) return 0;
  const node = text(gone[0].node);
  const closed: DbRow[] = await tx`
    UPDATE tracked_connections SET closed = ${nowMs}, reason = ${NODE_GONE}
    WHERE id IN (SELECT id FROM tracked_connections WHERE node = ${node} AND closed IS NULL LIMIT ${limit}) RETURNING id`;
  const ended: DbRow[] = await tx`
    UPDATE tracked_members SET until = ${nowMs} WHERE (node, app, channel, peer_id) IN (
      SELECT node, app, channel, peer_id FROM tracked_members WHERE node = ${node} AND until IS NULL LIMIT ${limit})
    RETURNING node`;
  if (closed.length + ended.length > 0) return Math.max(closed.length, ended.length);
  await tx`DELETE FROM tracked_nodes WHERE node = ${node}`;
  // There may be another one.
  return limit;
}

async function connections(tx: SQL, said: Said, { limit }: Limit): Promise<number> {
  const rows: DbRow[] = await tx`
    SELECT * FROM tracked_connections WHERE is_said = 0 OR closed IS NOT NULL ORDER BY opened LIMIT ${limit}`;
  if (rows.length === 0) return 0;
  for (const row of rows) sayConnection(said, row);
  const opened = rows.filter(({ closed }) => closed === null).map(({ id }) => text(id));
  const closed = rows.filter((row) => row.closed !== null).map(({ id }) => text(id));
  if (opened.length > 0) await tx`UPDATE tracked_connections SET is_said = 1 WHERE id IN ${tx(opened)}`;
  if (closed.length > 0) await tx`DELETE FROM tracked_connections WHERE id IN ${tx(closed)}`;
  return rows.length;
}

function sayConnection(said: Said, row: DbRow): void {
  const app = appId(row.app);
  const [opened, closed] = [Number(row.opened), numberOrNull(row.closed)];
  const peerId = text(row.peer_id);
  const subject = `peer ${peerId}`;
  const fact = {
    peerId,
    connectionId: text(row.id),
    keyId: text(row.key_id),
    metadataJson: textOrNull(row.metadata),
    opened,
  };
  if (Number(row.is_said) === 0) said.say(app, subject, opened, { type: "connection.opened", ...fact });
  if (closed !== null)
    said.say(app, subject, closed, {
      type: "connection.closed",
      ...fact,
      closed,
      code: numberOrNull(row.code),
      reason: textOrNull(row.reason),
    });
}

const subjectOf = (channel: string): string => `channel ${channel}`;
const memberKey = ({ app, channel, peer_id }: DbRow): string[] => [text(app), text(channel), text(peer_id)];
const channelKey = ({ app, channel }: DbRow): string[] => [text(app), text(channel)];

/** In a fixed order, and each once: nodes write some of them too, and would deadlock. */
function distinct(keys: readonly string[][]): string[][] {
  const found = new Map(keys.map((key) => [key.join("\0"), key]));
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, key]) => key);
}

async function arrivals(tx: SQL, nowMs: number, said: Said, { limit }: Limit): Promise<number> {
  const rows: DbRow[] = await tx`
    SELECT m.*, s.peer_id AS said_peer, c.channel AS said_channel FROM tracked_members m
    LEFT JOIN said_members s ON s.app = m.app AND s.channel = m.channel AND s.peer_id = m.peer_id
    LEFT JOIN said_channels c ON c.app = m.app AND c.channel = m.channel
    WHERE m.is_said = 0 ORDER BY m.since LIMIT ${limit}`;
  if (rows.length === 0) return 0;
  await sayArrivals(tx, nowMs, said, rows);
  const marked = new Tuples();
  const keys = marked.rows(rows.map((row) => [text(row.node), ...memberKey(row)]));
  await marked.run(
    tx,
    `UPDATE tracked_members SET is_said = 1 WHERE (node, app, channel, peer_id) IN (VALUES ${keys})`,
  );
  // What was left of it on another node has done its service: from now on only what becomes of this row counts.
  const left = new Tuples();
  const back = left.rows(distinct(rows.map(memberKey)));
  await left.run(
    tx,
    `DELETE FROM tracked_members WHERE until IS NOT NULL AND (app, channel, peer_id) IN (VALUES ${back})
       AND EXISTS (SELECT 1 FROM tracked_members o WHERE o.app = tracked_members.app AND o.channel = tracked_members.channel
         AND o.peer_id = tracked_members.peer_id AND o.node <> tracked_members.node AND o.until IS NULL)`,
  );
  return rows.length;
}

async function sayArrivals(tx: SQL, nowMs: number, said: Said, all: readonly DbRow[]): Promise<void> {
  // One that has left again already was seen by no one.
  const rows = all.filter(({ until }) => until === null || Number(until) > nowMs);
  const first = new Map(rows.map((row) => [memberKey(row).join("\0"), row]));
  if (first.size === 0) return;
  /** Bound: rows that are read. */
  const occupied = new Set<string>();
  for (const row of first.values()) {
    const [app, channel, peerId] = [appId(row.app), text(row.channel), text(row.peer_id)];
    const since = Math.min(Number(row.since), nowMs);
    const key = channelKey(row).join("\0");
    if (row.said_channel === null && !occupied.has(key))
      said.say(app, subjectOf(channel), since, { type: "channel.occupied", channel });
    occupied.add(key);
    const metadataJson = textOrNull(row.metadata);
    if (row.said_peer === null)
      said.say(app, subjectOf(channel), since, { type: "peer.joined", channel, peerId, metadataJson });
  }
  const members = new Tuples();
  const values = members.rows(
    [...first].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => [...memberKey(row), textOrNull(row.metadata)]),
  );
  await members.run(
    tx,
    `INSERT INTO said_members (app, channel, peer_id, metadata) VALUES ${values}
     ON CONFLICT (app, channel, peer_id) DO UPDATE SET metadata = excluded.metadata`,
  );
  await occupy(tx, distinct(rows.map(channelKey)));
}

async function occupy(tx: SQL, channels: readonly string[][]): Promise<void> {
  const tuples = new Tuples();
  const values = tuples.rows(channels);
  await tuples.run(
    tx,
    `INSERT INTO said_channels (app, channel) VALUES ${values} ON CONFLICT (app, channel) DO UPDATE SET vacated_at = NULL`,
  );
}

async function departures(tx: SQL, nowMs: number, said: Said, { limit }: Limit): Promise<number> {
  const aheadMs = nowMs + LEFT_AHEAD_MAX_MS;
  const rows: DbRow[] = await tx`
    SELECT node, app, channel, peer_id FROM tracked_members WHERE until <= ${nowMs} OR until > ${aheadMs}
    ORDER BY until LIMIT ${limit}`;
  if (rows.length === 0) return 0;
  const ended = new Tuples();
  const [until, ahead] = [ended.value(nowMs), ended.value(aheadMs)];
  const keys = ended.rows(rows.map((row) => [text(row.node), ...memberKey(row)]));
  await ended.run(
    tx,
    `DELETE FROM tracked_members WHERE (until <= ${until} OR until > ${ahead}) AND (node, app, channel, peer_id) IN (VALUES ${keys})`,
  );
  await sayDepartures(tx, nowMs, said, distinct(rows.map(memberKey)));
  return rows.length;
}

/** Those of these members that no row has any more. */
export async function sayDepartures(tx: SQL, nowMs: number, said: Said, members: readonly string[][]): Promise<void> {
  if (members.length === 0) return;
  const tuples = new Tuples();
  const keys = tuples.rows(members);
  const gone = await tuples.run(
    tx,
    `DELETE FROM said_members WHERE (app, channel, peer_id) IN (VALUES ${keys})
       AND NOT EXISTS (SELECT 1 FROM tracked_members o WHERE o.app = said_members.app AND o.channel = said_members.channel
         AND o.peer_id = said_members.peer_id)
     RETURNING app, channel, peer_id, metadata`,
  );
  if (gone.length === 0) return;
  for (const row of gone) {
    const [app, channel, peerId] = [appId(row.app), text(row.channel), text(row.peer_id)];
    const metadataJson = textOrNull(row.metadata);
    said.say(app, subjectOf(channel), nowMs, { type: "peer.left", channel, peerId, metadataJson });
  }
  await vacate(tx, nowMs, distinct(gone.map(channelKey)));
}

export async function vacate(tx: SQL, nowMs: number, channels: readonly string[][]): Promise<void> {
  const tuples = new Tuples();
  const at = tuples.value(nowMs);
  const keys = tuples.rows(channels);
  await tuples.run(
    tx,
    `UPDATE said_channels SET vacated_at = ${at} WHERE vacated_at IS NULL AND (app, channel) IN (VALUES ${keys})
       AND NOT EXISTS (SELECT 1 FROM said_members s WHERE s.app = said_channels.app AND s.channel = said_channels.channel)`,
  );
}

async function vacancies(tx: SQL, nowMs: number, said: Said, options: DeriveOptions): Promise<number> {
  const { limit, vacatedMs } = options;
  const rows: DbRow[] = await tx`
    SELECT app, channel FROM said_channels WHERE vacated_at <= ${nowMs - vacatedMs} OR vacated_at > ${nowMs + vacatedMs}
    ORDER BY vacated_at LIMIT ${limit}`;
  if (rows.length === 0) return 0;
  const tuples = new Tuples();
  const keys = tuples.rows(distinct(rows.map(channelKey)));
  await tuples.run(tx, `DELETE FROM said_channels WHERE vacated_at IS NOT NULL AND (app, channel) IN (VALUES ${keys})`);
  for (const row of rows) {
    const channel = text(row.channel);
    said.say(appId(row.app), subjectOf(channel), nowMs, { type: "channel.vacated", channel });
  }
  return rows.length;
}
