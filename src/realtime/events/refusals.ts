/**
 * Recent refusals on this node: what the live tail shows of them, for those who look later. Each application has its own, and so have
 * connects with unknown credentials, so that a flood of one does not push out the others. Never holds a credential.
 */
import type { AppId } from "../../base/ids.ts";
import { type Code, wireCode } from "../../protocol/codes.ts";
import type { Connection } from "../state/connection.ts";
import { type ConnectRefusal, OPERATOR_CODES, type RefusedConnect } from "./events.ts";

/** Refused connects of an application, and as many refused frames. */
export const REFUSALS_PER_APP_MAX = 100;
/** Unknown credentials from one address that are rows of their own: who tries many must not push out the mistakes of others. */
export const OFFERED_PER_ADDRESS_MAX = 5;
/** In place of further ones. */
export const OFFERED_OTHERS = "others";
/** Applications with refusals on a node. */
export const REFUSAL_APPS_MAX = 100;
/** The longest range of the charts, which have their numbers. */
export const REFUSALS_KEPT_MS = 24 * 3600 * 1000;

interface RefusalFields {
  /** As in the tail: a connect, or a frame. */
  readonly kind: "refuse" | "error";
  readonly code: string;
  readonly app?: AppId | undefined;
  readonly keyId?: string | undefined;
  readonly peerId?: string | undefined;
  readonly offered?: string | undefined;
  readonly channel?: string | undefined;
  readonly origin?: string | undefined;
  readonly address?: string | undefined;
}

/** The same refusal, as often as it happened. Times are in Unix ms. */
export interface Refusal extends RefusalFields {
  readonly firstMs: number;
  lastMs: number;
  count: number;
  /** Grows with every refusal of the node: the order of those of the same millisecond. */
  number: number;
}

const ORIGIN_MAX_CHARS = 256;

/** Only what browsers send. A client could send a secret by mistake, and operators are shown none. */
export function shownOrigin(sent: string | null): string | undefined {
  if (sent === null || sent.length > ORIGIN_MAX_CHARS || !URL.canParse(sent)) return undefined;
  return new URL(sent).origin === sent ? sent : undefined;
}

const isOfOperators = (code: ConnectRefusal): code is (typeof OPERATOR_CODES)[number] =>
  OPERATOR_CODES.some((one) => one === code);

export const shownCode = (code: ConnectRefusal): string => (isOfOperators(code) ? code : wireCode(code));

/** None of these has a line break: names and codes have no control characters, and origins and addresses are written by us. */
const nameOf = ({ code, keyId, peerId, offered, channel, origin, address }: RefusalFields): string =>
  [code, keyId, peerId, offered, channel, origin, address].join("\n");

class Recent {
  /** The newest last. Bound: REFUSALS_PER_APP_MAX; the one that has not happened for longest is forgotten. */
  private readonly byName = new Map<string, Refusal>();

  note(sent: RefusalFields, nowMs: number, number: number): void {
    this.forgetOld(nowMs);
    const fields = this.isOneTooMany(sent) ? { ...sent, offered: OFFERED_OTHERS } : sent;
    const name = nameOf(fields);
    const known = this.byName.get(name);
    if (known) {
      known.lastMs = nowMs;
      known.count++;
      known.number = number;
      this.byName.delete(name);
      this.byName.set(name, known);
      return;
    }
    const [oldest] = this.byName.keys();
    if (oldest !== undefined && this.byName.size >= REFUSALS_PER_APP_MAX) this.byName.delete(oldest);
    this.byName.set(name, { ...fields, firstMs: nowMs, lastMs: nowMs, count: 1, number });
  }

  private isOneTooMany(sent: RefusalFields): boolean {
    if (sent.offered === undefined || this.byName.has(nameOf(sent))) return false;
    let ofAddress = 0;
    for (const { address, offered } of this.byName.values())
      if (address === sent.address && offered !== undefined) ofAddress++;
    return ofAddress >= OFFERED_PER_ADDRESS_MAX;
  }

  all(nowMs: number): Iterable<Refusal> {
    this.forgetOld(nowMs);
    return this.byName.values();
  }

  private forgetOld(nowMs: number): void {
    for (const [name, { lastMs }] of this.byName) {
      if (nowMs - lastMs < REFUSALS_KEPT_MS) return;
      this.byName.delete(name);
    }
  }
}

/** A client that repeats a mistake on many channels must not push out the refused connects. */
class OfOne {
  private readonly connects = new Recent();
  private readonly frames = new Recent();

  of(kind: RefusalFields["kind"]): Recent {
    return kind === "refuse" ? this.connects : this.frames;
  }

  *all(nowMs: number): Iterable<Refusal> {
    yield* this.connects.all(nowMs);
    yield* this.frames.all(nowMs);
  }
}

export class Refusals {
  /** The one that was last refused something is last. Bound: REFUSAL_APPS_MAX; then those of the first application are forgotten. */
  private readonly byApp = new Map<AppId, OfOne>();
  private readonly ofNone = new OfOne();
  private number = 0;

  constructor(private readonly wallMs: () => number) {}

  connect({ code, app, keyId, peerId, offered, address, origin }: RefusedConnect): void {
    const fields = { app, keyId, peerId, offered, origin: shownOrigin(origin), address };
    this.note({ kind: "refuse", code: shownCode(code), ...fields });
  }

  frame({ peer, peerId, keyId }: Connection, code: Code, channel: string | undefined): void {
    this.note({ kind: "error", code: wireCode(code), app: peer.space.owner, keyId, peerId, channel });
  }

  /** In no order. `null`: only connects with unknown credentials. */
  *of(app: AppId | null | undefined): Iterable<Refusal> {
    const nowMs = this.wallMs();
    if (app === null || app === undefined) yield* this.ofNone.all(nowMs);
    if (app === null) return;
    for (const [id, one] of this.byApp) if (app === undefined || id === app) yield* one.all(nowMs);
  }

  private note(fields: RefusalFields): void {
    this.listOf(fields.app)
      .of(fields.kind)
      .note(fields, Math.floor(this.wallMs()), ++this.number);
  }

  private listOf(app: AppId | undefined): OfOne {
    if (app === undefined) return this.ofNone;
    const list = this.byApp.get(app) ?? new OfOne();
    this.byApp.delete(app);
    const [first] = this.byApp.keys();
    if (first !== undefined && this.byApp.size >= REFUSAL_APPS_MAX) this.byApp.delete(first);
    this.byApp.set(app, list);
    return list;
  }
}
