/**
 * The only place that changes endpoints of webhooks. A change is written to the store first, then to the book, as with keys
 * (access/keys/directory.ts): when a call has resolved, the change is durable, and in force on this node and every other that is reachable.
 */
import { newObjectId } from "../../access/keys/ids.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Vault } from "../../access/keys/vault.ts";
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Change, Store } from "../../store/contract/store.ts";
import type { DisabledWhy, WebhookKind, WebhookRow, WebhookSecretRow } from "../../store/contract/webhooks.ts";
import { ENDPOINTS_PER_APP_MAX, PREVIOUS_SECRETS_MAX, ROOM_ENDPOINTS_PER_APP_MAX } from "../limits.ts";
import type { TouchedWebhooks, WebhookBook, WebhookEntry } from "./book.ts";
import { type AddressCheck, checkAddress, checkChannels, editedHeaders } from "./checks.ts";
import { roomEndpointId, roomEndpointKey } from "./room-endpoints.ts";
import { newSecretKey, openHeaders, sealHeaders, sealSecret, secretText } from "./seals.ts";

/** What an endpoint is made of. */
export interface WebhookFields {
  readonly url: string;
  readonly events: readonly string[];
  readonly channelPatterns: readonly string[] | null;
  readonly description: string | null;
  readonly disabled: boolean;
  /** null: the header is removed. */
  readonly headers: Readonly<Record<string, string | null>>;
}

/** Absent fields stay as they are. */
export type WebhookEdit = { readonly [K in keyof WebhookFields]?: WebhookFields[K] | undefined };

/** The endpoint that a call is about. Others of its application than those of these kinds do not exist for the caller. */
export interface WebhookName {
  readonly app: AppId;
  readonly id: string;
  readonly kinds?: readonly WebhookKind[];
}

interface Outcome<T> {
  readonly result: T;
  readonly touched: TouchedWebhooks;
}

interface EndpointsParts {
  readonly store: Pick<Store, "change" | "webhooks">;
  readonly keyring: Pick<Keyring, "apply">;
  readonly vault: Vault;
  readonly book: WebhookBook;
  readonly addressCheck: AddressCheck;
  readonly nowMs: () => number;
}

export class WebhookEndpoints {
  /** Bound: registered at the start. */
  private readonly listeners: (() => Promise<void>)[] = [];

  constructor(private readonly parts: EndpointsParts) {}

  /** Called when a change is durable and in force on this node; the change resolves after its listeners. */
  onChange(listener: () => Promise<void>): void {
    this.listeners.push(listener);
  }

  /** Oldest first; from memory. */
  list(app: AppId, kinds?: readonly WebhookKind[]): readonly WebhookEntry[] {
    return this.parts.book.of(app).filter(({ row }) => kinds?.includes(row.kind) !== false);
  }

  /** From memory. */
  get({ app, id, kinds }: WebhookName): WebhookEntry {
    const entry = this.parts.book.get(id);
    if (entry?.row.app !== app || kinds?.includes(entry.row.kind) === false) throw noSuchWebhook();
    return entry;
  }

  /** `secret` is returned only here. */
  async create(
    app: AppId,
    kind: Exclude<WebhookKind, "room">,
    fields: WebhookFields,
  ): Promise<{ row: WebhookRow; secret: string }> {
    const { url, events, channelPatterns, description } = fields;
    checkAddress(this.parts.addressCheck, url, kind);
    checkChannels(fields);
    const headers = editedHeaders({}, fields.headers);
    const key = newSecretKey();
    const now = this.parts.nowMs();
    const id = newObjectId(now);
    const row: WebhookRow = {
      id,
      app,
      kind,
      url,
      events: [...new Set(events)],
      channelPatterns,
      description,
      headerNames: Object.keys(headers),
      headersSealed: sealHeaders(this.parts.vault, id, headers),
      created: now,
      ...disabledAs(fields.disabled ? "request" : null, now),
    };
    const secret = this.secretRow(id, 1, key);
    await this.change(async (change) => {
      // The application may have been deleted a moment ago, on another node.
      if ((await change.app(app)) === undefined) throw new Problem("not_found", "There is no such application.");
      const others = (await change.webhooksOf(app)).filter((one) => one.kind !== "room");
      if (others.length >= ENDPOINTS_PER_APP_MAX)
        throw new Problem(
          "conflict",
          `An application can have at most ${ENDPOINTS_PER_APP_MAX} webhooks, created by its backends and operators together. Delete one first.`,
        );
      await change.putWebhook(row);
      await change.putWebhookSecret(secret);
      return { result: undefined, touched: { put: [{ row, secrets: [secret] }] } };
    });
    return { row, secret: secretText(key) };
  }

  async edit(name: WebhookName, edit: WebhookEdit): Promise<{ before: WebhookRow; after: WebhookRow }> {
    const edited = await this.change(async (change) => {
      const before = await existing(change, name);
      const after = this.edited(before, edit);
      await change.putWebhook(after);
      const secrets = await change.webhookSecrets(before.id);
      return { result: { before, after }, touched: { put: [{ row: after, secrets }] } };
    });
    // What failed before it was switched on again counts no more.
    if (edited.before.disabled !== null && edited.after.disabled === null)
      await this.parts.store.webhooks.recover(edited.after.id);
    return edited;
  }

  async remove(name: WebhookName): Promise<WebhookRow> {
    return this.change(async (change) => {
      const row = await existing(change, name);
      refuseRoomUrl(row, "clear the fields of the rooms that name it");
      await change.removeWebhook(row.id);
      return { result: row, touched: { removed: [row.id] } };
    });
  }

  /** The new secret, and until when the one before it still signs, too. `secret` is returned only here. */
  async rotate(
    name: WebhookName,
    graceSeconds: number,
  ): Promise<{ row: WebhookRow; secret: string; previousEndsMs: number }> {
    const key = newSecretKey();
    return this.change(async (change) => {
      const row = await existing(change, name);
      refuseRoomUrl(row, "its secret follows from the URL: change the URL, for example its query, to get another");
      const now = this.parts.nowMs();
      const ends = now + graceSeconds * 1000;
      const before = await change.webhookSecrets(row.id);
      const left = before.map((one) => ({ ...one, ends: one.ends ?? ends })).filter((one) => one.ends > now);
      if (left.length > PREVIOUS_SECRETS_MAX)
        throw new Problem(
          "conflict",
          `${PREVIOUS_SECRETS_MAX} previous secrets still sign; wait until the grace period of one is over, or use graceSec 0.`,
        );
      const newest = this.secretRow(row.id, (before[0]?.seq ?? 0) + 1, key);
      const secrets = [newest, ...left];
      for (const { seq } of before) await change.removeWebhookSecret(row.id, seq);
      for (const one of secrets) await change.putWebhookSecret(one);
      return {
        result: { row, secret: secretText(key), previousEndsMs: ends },
        touched: { put: [{ row, secrets }] },
      };
    });
  }

  /** An endpoint does not want or take events any more. Nothing happens if it is disabled or deleted by now. */
  async disable(id: string, why: Exclude<DisabledWhy, "request">): Promise<void> {
    await this.change(async (change) => {
      const before = await change.webhook(id);
      if (!before || before.disabled !== null) return { result: undefined, touched: {} };
      const row = { ...before, ...disabledAs(why, this.parts.nowMs()) };
      await change.putWebhook(row);
      return { result: undefined, touched: { put: [{ row, secrets: await change.webhookSecrets(id) }] } };
    });
  }

  /** The endpoint of a URL of rooms, which is made if it is not known yet. undefined: the application is deleted. */
  async ofRoomUrl(app: AppId, url: string): Promise<WebhookEntry | undefined> {
    const { vault, book } = this.parts;
    const id = roomEndpointId(vault, app, url);
    if (!book.get(id)) await this.putRoomUrl(app, id, url);
    return book.get(id);
  }

  /** What signs the events for a URL of rooms, whether or not anything was sent to it yet. */
  roomSecret(app: AppId, url: string): { id: string; secret: string } {
    const { vault } = this.parts;
    return { id: roomEndpointId(vault, app, url), secret: secretText(roomEndpointKey(vault, app, url)) };
  }

  private async putRoomUrl(app: AppId, id: string, url: string): Promise<void> {
    const others = this.list(app, ["room"]).map(({ row }) => row.id);
    const states = others.length < ROOM_ENDPOINTS_PER_APP_MAX ? [] : await this.parts.store.webhooks.states(others);
    const called = new Map(states.map((state) => [state.webhook, state.attemptedAt ?? 0]));
    /** One that is new was not called yet, and may have something that waits. */
    const usedMs = ({ id: other, created }: WebhookRow): number => Math.max(created, called.get(other) ?? 0);
    // As often as an application names another URL: each may make every node read the whole store, and all events wait for this.
    await this.changeHere(async (change) => {
      if ((await change.app(app)) === undefined) return { result: undefined, touched: {} };
      const rows = (await change.webhooksOf(app)).filter(({ kind }) => kind === "room");
      const known = rows.find((row) => row.id === id);
      if (known) return { result: undefined, touched: { put: [{ row: known, secrets: [] }] } };
      const removed = rows
        .toSorted((one, other) => usedMs(one) - usedMs(other))
        .slice(0, Math.max(0, rows.length - ROOM_ENDPOINTS_PER_APP_MAX + 1))
        .map((row) => row.id);
      for (const one of removed) await change.removeWebhook(one);
      const row = roomRow(app, id, url, this.parts.nowMs());
      await change.putWebhook(row);
      return { result: undefined, touched: { put: [{ row, secrets: [] }], removed } };
    });
  }

  private edited(before: WebhookRow, edit: WebhookEdit): WebhookRow {
    const { url, events, channelPatterns, description, disabled, headers } = edit;
    const others = [url, events, channelPatterns, description, headers];
    if (others.some((field) => field !== undefined))
      refuseRoomUrl(before, "only disabled can be changed here; the rest is in the fields of the rooms that name it");
    if (url !== undefined) checkAddress(this.parts.addressCheck, url, before.kind);
    const isOn = before.disabled === null;
    const row: WebhookRow = {
      ...before,
      url: url ?? before.url,
      events: events ? [...new Set(events)] : before.events,
      channelPatterns: channelPatterns === undefined ? before.channelPatterns : channelPatterns,
      description: description === undefined ? before.description : description,
      ...(headers && this.withHeaders(before, headers)),
      ...(disabled === isOn && disabledAs(disabled ? "request" : null, this.parts.nowMs())),
    };
    if (events || channelPatterns !== undefined) checkChannels(row);
    return row;
  }

  private withHeaders(
    row: WebhookRow,
    edits: WebhookFields["headers"],
  ): Pick<WebhookRow, "headerNames" | "headersSealed"> {
    const { vault } = this.parts;
    const before = openHeaders(vault, row);
    if (before === undefined)
      throw new Problem("internal_error", "This webhook's headers cannot be decrypted. Delete it and create it again.");
    const headers = editedHeaders(before, edits);
    return { headerNames: Object.keys(headers), headersSealed: sealHeaders(vault, row.id, headers) };
  }

  private secretRow(webhook: string, seq: number, key: Buffer): WebhookSecretRow {
    const { vault, nowMs } = this.parts;
    return { webhook, seq, sealed: sealSecret(vault, webhook, seq, key), created: nowMs(), ends: null };
  }

  private async change<T>(work: (change: Change) => Promise<Outcome<T>>): Promise<T> {
    const result = await this.changeHere(work);
    await Promise.all(this.listeners.map((listener) => listener()));
    return result;
  }

  /** Other nodes learn of it with their next look: they are not asked to look at once, and not waited for. */
  private async changeHere<T>(work: (change: Change) => Promise<Outcome<T>>): Promise<T> {
    const { store, keyring, book } = this.parts;
    const { result } = await store.change(work, ({ touched }, revision) => {
      // The keyring keeps the revision of all that the snapshot holds.
      if (keyring.apply({}, revision)) book.apply(touched);
    });
    return result;
  }
}

const noSuchWebhook = (): Problem => new Problem("webhook_not_found");

async function existing(change: Change, { app, id, kinds }: WebhookName): Promise<WebhookRow> {
  const row = await change.webhook(id);
  if (row?.app !== app || kinds?.includes(row.kind) === false) throw noSuchWebhook();
  return row;
}

function refuseRoomUrl({ kind }: WebhookRow, whatToDo: string): void {
  if (kind === "room") throw new Problem("conflict", `This webhook is the URL of a field of rooms: ${whatToDo}.`);
}

const disabledAs = (why: DisabledWhy | null, nowMs: number): Pick<WebhookRow, "disabled" | "disabledWhy"> => ({
  disabled: why === null ? null : nowMs,
  disabledWhy: why,
});

/** It gets the events of the fields that name it, whatever its row says. */
const roomRow = (app: AppId, id: string, url: string, nowMs: number): WebhookRow => ({
  id,
  app,
  kind: "room",
  url,
  events: [],
  channelPatterns: null,
  description: null,
  headerNames: [],
  headersSealed: null,
  created: nowMs,
  ...disabledAs(null, nowMs),
});
