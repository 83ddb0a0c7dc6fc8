/**
 * Compares a service that was restored with what was acknowledged before and after the moment of its backup. What was under way at that moment may be
 * there or not, but never in part.
 */
import { Application } from "../../support/application.ts";
import { call } from "../../support/http.ts";
import type { Server } from "../../support/parley.ts";
import { Backend, sha256 } from "../../support/recordings.ts";
import type { Acked, Load, LoadedApp } from "./load.ts";

export interface Judged {
  readonly messages: number;
  readonly apps: number;
  readonly recordings: number;
}

interface StoredMessage {
  readonly pos: string;
  readonly data: { readonly number: number };
}

/** Throws with what is wrong. `token`: the admin token of the restored service. */
export async function judge(server: Server, app: LoadedApp, load: Load, atMs: number): Promise<Judged> {
  return {
    messages: await judgeMessages(server, app, load, atMs),
    apps: await judgeApps(server, app, load, atMs),
    recordings: await judgeRecordings(server, app, load, atMs),
  };
}

/** Must be there, may be there. */
function sorted<T>(
  all: readonly Acked<T>[],
  atMs: number,
): { readonly must: readonly T[]; readonly may: readonly T[] } {
  return {
    must: all.filter(({ toMs }) => toMs < atMs).map(({ what }) => what),
    may: all.filter(({ fromMs }) => fromMs <= atMs).map(({ what }) => what),
  };
}

function compare(what: string, found: readonly string[], must: readonly string[], may: readonly string[]): void {
  const [there, allowed] = [new Set(found), new Set(may)];
  const lost = must.filter((one) => !there.has(one));
  const tooMuch = found.filter((one) => !allowed.has(one));
  if (there.size !== found.length) throw new Error(`${what}: some are there twice`);
  if (lost.length > 0)
    throw new Error(`${what}: ${lost.length} of ${must.length} are lost: ${lost.slice(0, 5).join(", ")}`);
  if (tooMuch.length > 0) throw new Error(`${what}: ${tooMuch.length} came later: ${tooMuch.slice(0, 5).join(", ")}`);
}

async function judgeMessages(server: Server, app: LoadedApp, load: Load, atMs: number): Promise<number> {
  let count = 0;
  for (const [channel, sent] of Map.groupBy(load.messages, ({ what }) => what.channel)) {
    const { must, may } = sorted(sent, atMs);
    const stored = await historyOf(server, app, channel);
    const name = ({ number, pos }: { number: number; pos: string }): string => `${number} at ${pos}`;
    const found = stored.map(({ pos, data }) => name({ pos, number: data.number }));
    compare(channel, found, must.map(name), may.map(name));
    // In order and without a gap: half of a batch would show here.
    stored.forEach(({ data }, i) => {
      if (data.number !== i + 1) throw new Error(`${channel}: ${data.number} is where ${i + 1} should be`);
    });
    count += found.length;
  }
  return count;
}

async function historyOf(server: Server, app: LoadedApp, channel: string): Promise<StoredMessage[]> {
  const all: StoredMessage[] = [];
  for (let after: string | undefined; ; ) {
    // Newest first without a position, so the beginning is asked for by a page that ends there.
    const query = after === undefined ? "limit=100" : `limit=100&before=${encodeURIComponent(after)}`;
    const path = `/v1/channels/${encodeURIComponent(channel)}/history?${query}`;
    const { status, text, body } = await call<{ messages: StoredMessage[]; more: boolean }>(server.url + path, {
      bearer: app.key,
    });
    if (status !== 200) throw new Error(`history of ${channel}: ${status} ${text}`);
    all.push(...body.messages);
    if (!body.more) return all.reverse();
    after = body.messages.at(-1)?.pos;
  }
}

async function judgeApps(server: Server, app: LoadedApp, load: Load, atMs: number): Promise<number> {
  const { must, may } = sorted(load.apps, atMs);
  const listed = await server.admin.must<{ data: { name: string }[] }>("GET", "/apps?limit=1000");
  const found = listed.data.map(({ name }) => name).filter((name) => name.startsWith(`${app.name}-`));
  compare("applications", found, must, may);
  return found.length;
}

async function judgeRecordings(server: Server, app: LoadedApp, load: Load, atMs: number): Promise<number> {
  const backend = new Backend(new Application(server.url, app.name, app.secretKey, app.id));
  const { must, may } = sorted(load.recordings, atMs);
  const deleted = sorted(load.deleted, atMs);
  const found: string[] = [];
  for (let endId = ""; ; ) {
    const page = await backend.list({ limit: 100, order: "asc", ...(endId !== "" && { endId }) });
    found.push(...page.data.map(({ _id }) => _id));
    if (page.data.length < 100) break;
    endId = page.currEndId;
  }
  const gone = new Set(deleted.must);
  const mayBeGone = new Set(deleted.may);
  compare(
    "recordings",
    found,
    must.map(({ id }) => id).filter((id) => !mayBeGone.has(id)),
    may.map(({ id }) => id).filter((id) => !gone.has(id)),
  );
  const made = new Map(load.recordings.map(({ what }) => [what.id, what]));
  for (const id of found) {
    const response = await backend.fetch(await backend.link(id));
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (sha256(bytes) !== made.get(id)?.sha256) throw new Error(`recording ${id} has other bytes (${bytes.length})`);
  }
  return found.length;
}
