/** Says what differs between the rows of an application and what was said, wherever neither has changed since. */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import type { Derived, DeriveOptions } from "../../contract/tracking.ts";
import { type DbRow, text } from "../../engines/rows.ts";
import { Said, sayDepartures, vacate } from "./deriving.ts";
import type { Outbox } from "./outbox.ts";

/** Members that are corrected in one call. A call with as many is followed by another one. */
const AT_ONCE = 200;

export async function reconcile(
  tx: SQL,
  outbox: Outbox,
  app: AppId,
  nowMs: number,
  options: Pick<DeriveOptions, "asked">,
): Promise<Derived> {
  const said = new Said(options);
  const members: DbRow[] = await tx`
    SELECT s.app, s.channel, s.peer_id FROM said_members s WHERE s.app = ${app}
      AND NOT EXISTS (SELECT 1 FROM tracked_members o WHERE o.app = s.app AND o.channel = s.channel AND o.peer_id = s.peer_id)
    ORDER BY s.channel, s.peer_id LIMIT ${AT_ONCE}`;
  await sayDepartures(
    tx,
    nowMs,
    said,
    members.map((row) => [text(row.app), text(row.channel), text(row.peer_id)]),
  );
  const channels: DbRow[] = await tx`
    SELECT c.app, c.channel FROM said_channels c WHERE c.app = ${app} AND c.vacated_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM said_members s WHERE s.app = c.app AND s.channel = c.channel)
    ORDER BY c.channel LIMIT ${AT_ONCE}`;
  if (channels.length > 0)
    await vacate(
      tx,
      nowMs,
      channels.map((row) => [text(row.app), text(row.channel)]),
    );
  await outbox.add(tx, ...said.events);
  return { events: said.events.length, more: Math.max(members.length, channels.length) === AT_ONCE };
}
