/**
 * Who may use the control plane, in memory: the admin token, operators with tokens of their own, and sessions of the dashboard.
 * They are kept in the store and reach every node like keys (store-follower.ts): a session made on one node holds on all, and
 * one that ends on one node ends everywhere, together with the streams it has opened.
 */
import { createHmac } from "node:crypto";
import { Problem } from "../../protocol/codes.ts";
import type { OperatorRow, SessionRow } from "../../store/contract/operators.ts";
import type { Change, Snapshot, Store } from "../../store/contract/store.ts";
import { newObjectId, newOperatorToken, newSessionSecret } from "../keys/ids.ts";
import type { Keyring } from "../keys/keyring.ts";
import { DUMMY_DIGEST, digestOf, fits, type Vault } from "../keys/vault.ts";
import type { Withdrawn } from "../keys/withdrawn.ts";
import {
  LAST_USED_EVERY_MS,
  OPERATORS_MAX,
  SESSION_SECONDS,
  SESSIONS_MAX,
  SESSIONS_PER_OPERATOR_MAX,
} from "../limits.ts";
import { ADMIN_NAME, type Operator, type Role } from "./operator.ts";
import { type Session, SessionBook } from "./session-book.ts";

/** What an operator signs in with, or sends with each call. */
export interface TokenHolder {
  readonly operator: Operator;
  /** null: the admin token. */
  readonly id: string | null;
}

interface Entry {
  readonly row: OperatorRow;
  readonly holder: TokenHolder;
  readonly end: AbortController;
  touchedMs: number;
}

/** What a change of this node does to its memory. */
type Apply = () => void;

interface Outcome<T> {
  readonly result: T;
  readonly apply: Apply;
  /** What the change takes away; absent if nothing. */
  readonly withdrawn?: Withdrawn;
}

interface OperatorsParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly vault: Pick<Vault, "derive">;
  readonly nowMs: () => number;
  /** A time of last use could not be written. */
  readonly failed: (error: unknown) => void;
}

export class Operators {
  // By the digest of the token. Bound: OPERATORS_MAX; creating another is refused.
  private readonly byDigest = new Map<string, Entry>();
  /** Bound: OPERATORS_MAX. */
  private readonly byId = new Map<string, Entry>();
  private readonly sessions = new SessionBook();
  /** Bound: registered at the start. */
  private readonly listeners: ((withdrawn: Withdrawn | undefined) => Promise<void>)[] = [];
  private readonly bindKey: Buffer;
  private adminDigest = DUMMY_DIGEST;
  private adminEnd = new AbortController();
  private admin = adminHolder(this.adminEnd.signal);
  private adminCredential = "";

  constructor(private readonly parts: OperatorsParts) {
    this.bindKey = parts.vault.derive("sessions of the admin token");
  }

  /** Called when a change is durable and in force on this node; the change resolves after its listeners. */
  onChange(listener: (withdrawn: Withdrawn | undefined) => Promise<void>): void {
    this.listeners.push(listener);
  }

  get sessionCount(): number {
    return this.sessions.size;
  }

  /** To be called with each snapshot of the store, and the digest of the admin token that it results in. */
  load({ operators, sessions }: Pick<Snapshot, "operators" | "sessions">, adminDigest: string): void {
    if (adminDigest !== this.adminDigest) this.replaceAdmin(adminDigest);
    const live = new Set(operators.map((row) => row.digest));
    for (const digest of [...this.byDigest.keys()]) if (!live.has(digest)) this.removeOperator(digest);
    for (const row of operators) if (!this.byDigest.has(row.digest)) this.addOperator(row);
    const present = new Set(sessions.map((row) => row.digest));
    this.sessions.endWhere((row) => !present.has(row.digest) || !this.holderOf(row));
    for (const row of sessions) if (!this.sessions.has(row.digest)) this.addSession(row);
  }

  /** Ends what another node says has ended, before the store is read; the next snapshot decides anew. */
  withdraw({ kind, id }: Withdrawn): void {
    const entry = kind === "operator" ? this.byId.get(id) : undefined;
    if (entry) this.removeOperator(entry.row.digest);
    if (kind === "session") this.sessions.endWhere((row) => row.digest === id);
  }

  /** The holder of a token, whether the admin's or an operator's. */
  byToken(token: string): TokenHolder | undefined {
    // The admin token is compared even if an operator's fits, so that the time does not depend on which it is.
    const isAdmin = fits(token, this.adminDigest);
    const entry = this.byDigest.get(digestOf(token));
    if (entry) this.touch(entry);
    return isAdmin ? this.admin : entry?.holder;
  }

  bySession(secret: string): Session | undefined {
    const session = this.sessions.get(digestOf(secret), this.parts.nowMs());
    const entry = session && this.entryOf(session.row.operator);
    if (entry) this.touch(entry);
    return session;
  }

  /** The admin token's holder, for requests that need no token. */
  get adminOperator(): Operator {
    return this.admin.operator;
  }

  /** Ends what has expired: streams that were open when their session ended. */
  endExpired(): void {
    const now = this.parts.nowMs();
    this.sessions.endWhere((row) => row.ends <= now);
  }

  /** `replaces`: the cookie of an earlier session of the same browser, which ends. */
  signIn(holder: TokenHolder, replaces?: string): Promise<{ secret: string; session: Session }> {
    const secret = newSessionSecret();
    return this.change(async (change) => {
      const now = this.parts.nowMs();
      const row: SessionRow = {
        digest: digestOf(secret),
        operator: holder.id,
        credential: this.credentialOf(holder.id),
        created: now,
        ends: now + SESSION_SECONDS * 1000,
      };
      // Checked inside the change: the operator may have been revoked on another node a moment ago.
      if (holder.id !== null && (await change.operator(holder.id))?.revoked !== null) throw new Problem("unauthorized");
      const removed = await this.makeRoom(change, row, replaces === undefined ? "" : digestOf(replaces));
      await change.putSession(row);
      const apply: Apply = () => {
        this.sessions.endWhere((one) => removed.has(one.digest));
        this.addSession(row);
      };
      return { result: row, apply };
    }).then((row) => ({ secret, session: { row, operator: holder.operator } }));
  }

  /** Idempotent. */
  async signOut(secret: string): Promise<void> {
    const digest = digestOf(secret);
    await this.change(async (change) => {
      await change.removeSession(digest);
      const apply: Apply = () => this.sessions.endWhere((row) => row.digest === digest);
      return { result: undefined, apply, withdrawn: { kind: "session", id: digest } };
    });
  }

  /** From the store: only there is the time of last use. */
  list(): Promise<OperatorRow[]> {
    return this.parts.store.operators();
  }

  /** `token` is returned only here. */
  create(name: string, role: Role): Promise<{ row: OperatorRow; token: string }> {
    const token = newOperatorToken();
    return this.change(async (change) => {
      const live = await change.operators();
      if (name === ADMIN_NAME || live.some((one) => one.name === name))
        throw new Problem(
          "conflict",
          `An operator named ${name} already exists. Revoke it first, or choose another name.`,
        );
      if (live.length >= OPERATORS_MAX)
        throw new Problem("conflict", `There can be at most ${OPERATORS_MAX} operators. Revoke one first.`);
      const now = this.parts.nowMs();
      const row: OperatorRow = {
        id: newObjectId(now),
        name,
        role,
        digest: digestOf(token),
        created: now,
        lastUsed: null,
        revoked: null,
      };
      await change.putOperator(row);
      return { result: { row, token }, apply: () => this.addOperator(row) };
    });
  }

  /** Idempotent: a revoked operator keeps the time of the first revocation. */
  revoke(id: string): Promise<OperatorRow> {
    return this.change(async (change) => {
      const found = await change.operator(id);
      if (!found) throw new Problem("not_found", "There is no such operator.");
      const row = { ...found, revoked: found.revoked ?? this.parts.nowMs() };
      await change.putOperator(row);
      for (const session of await change.sessions())
        if (session.operator === id) await change.removeSession(session.digest);
      return { result: row, apply: () => this.removeOperator(row.digest), withdrawn: { kind: "operator", id } };
    });
  }

  private async change<T>(work: (change: Change) => Promise<Outcome<T>>): Promise<T> {
    const { store, keyring } = this.parts;
    const { result, withdrawn } = await store.change(work, ({ apply }, revision) => {
      // The keyring keeps the revision of all that the snapshot holds.
      if (keyring.apply({}, revision)) apply();
    });
    await Promise.all(this.listeners.map((listener) => listener(withdrawn)));
    return result;
  }

  /** Removes sessions that are over or too many; returns their digests. */
  private async makeRoom(change: Change, wanted: SessionRow, replaced: string): Promise<Set<string>> {
    const rows = await change.sessions();
    // Whether its token is still valid is not asked: another node may know of a token that this one has not read yet.
    const live = rows.filter((row) => row.digest !== replaced && row.ends > wanted.created);
    const own = live.filter((row) => row.operator === wanted.operator);
    const tooMany = [
      ...own.slice(0, Math.max(0, own.length - SESSIONS_PER_OPERATOR_MAX + 1)),
      ...live.slice(0, Math.max(0, live.length - SESSIONS_MAX + 1)),
    ];
    const kept = new Set(live).difference(new Set(tooMany));
    const removed = new Set(rows.filter((row) => !kept.has(row)).map((row) => row.digest));
    for (const digest of removed) await change.removeSession(digest);
    return removed;
  }

  /** undefined: the token that the session was made with is no longer valid. */
  private holderOf(row: SessionRow): TokenHolder | undefined {
    const holder = row.operator === null ? this.admin : this.entryOf(row.operator)?.holder;
    return holder && row.credential === this.credentialOf(row.operator) ? holder : undefined;
  }

  private entryOf(id: string | null): Entry | undefined {
    return id === null ? undefined : this.byId.get(id);
  }

  private credentialOf(id: string | null): string {
    return id ?? this.adminCredential;
  }

  private addSession(row: SessionRow): void {
    const holder = this.holderOf(row);
    if (holder && row.ends > this.parts.nowMs()) this.sessions.add(row, holder.operator);
  }

  private addOperator(row: OperatorRow): void {
    const end = new AbortController();
    const operator: Operator = { name: row.name, role: row.role, revoked: end.signal };
    const entry: Entry = { row, end, holder: { operator, id: row.id }, touchedMs: row.lastUsed ?? 0 };
    this.byDigest.set(row.digest, entry);
    this.byId.set(row.id, entry);
  }

  private removeOperator(digest: string): void {
    const entry = this.byDigest.get(digest);
    if (!entry) return;
    this.byDigest.delete(digest);
    this.byId.delete(entry.row.id);
    this.sessions.endWhere((row) => row.operator === entry.row.id);
    entry.end.abort();
  }

  private replaceAdmin(digest: string): void {
    this.adminDigest = digest;
    // Under a key of its own: the digest of an admin token that a person has chosen could be searched for.
    this.adminCredential = createHmac("sha256", this.bindKey).update(digest).digest("hex");
    const before = this.adminEnd;
    this.adminEnd = new AbortController();
    this.admin = adminHolder(this.adminEnd.signal);
    this.sessions.endWhere((row) => row.operator === null);
    before.abort();
  }

  private touch(entry: Entry): void {
    const now = this.parts.nowMs();
    if (now - entry.touchedMs < LAST_USED_EVERY_MS) return;
    entry.touchedMs = now;
    // Not awaited: a call does not wait for a time that is only shown.
    this.parts.store.touchOperator(entry.row.id, now).catch(this.parts.failed);
  }
}

const adminHolder = (revoked: AbortSignal): TokenHolder => ({
  id: null,
  operator: { name: ADMIN_NAME, role: "admin", revoked },
});
