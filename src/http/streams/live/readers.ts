/**
 * The requests on this node that wait for messages: how many there may be, and whether they still may. Each counts as a connection of its
 * application.
 */
import { covers, permits } from "../../../access/admission/permissions.ts";
import type { Keyring } from "../../../access/keys/keyring.ts";
import { rateKey } from "../../../base/address.ts";
import type { Clock } from "../../../base/clock.ts";
import { type AppId, spaceOf } from "../../../base/ids.ts";
import type { Throttle } from "../../../base/throttle.ts";
import type { Engine } from "../../../engine/engine.ts";
import { bitOf } from "../../../protocol/actions.ts";
import { Problem } from "../../../protocol/codes.ts";
import type { Connections } from "../../../realtime/connections/connections.ts";
import type { ReachedQuotas } from "../../../realtime/counting/reached-quotas.ts";
import type { Call } from "../../request/call.ts";
import { type Caller, type CallerChecks, callerNow } from "../caller.ts";
import { READERS_MAX, READERS_PER_CALLER_MAX, SWEEP_EVERY_MS } from "../limits.ts";
import type { LiveReader } from "./reader.ts";
import type { Sliced, Slices } from "./slices.ts";

const SUBSCRIBE = bitOf("subscribe");
/** There is room again when others leave. */
const RETRY_SECONDS = 5;

export interface ReadersParts extends CallerChecks {
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly engine: Pick<Engine, "claim">;
  readonly connections: Pick<Connections, "readerCame" | "readerLeft">;
  readonly connects: Throttle;
  readonly reachedQuotas: Pick<ReachedQuotas, "refused">;
  readonly room: { hasRoom(): boolean };
  readonly isDraining: () => boolean;
  readonly slices: Slices;
  readonly guarded: (step: () => void) => void;
  /** Once a second while there are readers, and once after the last. */
  readonly swept: () => void;
}

/** A place that a reader has taken. */
export interface Seat {
  /** Gives it back. May be called more than once. */
  end(): void;
}

export class Readers implements Sliced {
  /** Bound: READERS_MAX. */
  private readonly readers = new Set<LiveReader>();
  /** How many places are taken. */
  private taken = 0;
  /** The same by caller. Bound: READERS_MAX. */
  private readonly takenBy = new Map<string, number>();
  private isSweeping = false;
  private pass: Iterator<LiveReader> | undefined;

  constructor(private readonly parts: ReadersParts) {}

  get count(): number {
    return this.taken;
  }

  /** Throws if there are too many. `isFirst`: the client begins to wait, which costs a connect. */
  async seat(call: Call, caller: Caller, isFirst: boolean): Promise<Seat> {
    const { isDraining, room, connects } = this.parts;
    if (isDraining()) throw new Problem("internal_error", "This node is shutting down; try again.", 1);
    if (!room.hasRoom())
      throw new Problem("internal_error", "This node has reached its connection limit. Try again.", RETRY_SECONDS);
    const who = callerKey(call, caller);
    if (this.taken >= READERS_MAX || (this.takenBy.get(who) ?? 0) >= READERS_PER_CALLER_MAX)
      throw new Problem("rate_limited", "Too many requests wait for messages. Try again later.", RETRY_SECONDS);
    const wait = isFirst && !connects.isOff ? connects.take(rateKey(call.client)) : 0;
    if (wait > 0) throw new Problem("rate_limited", "Too many connects from this address.", wait);
    this.take(who, 1);
    try {
      return await this.counted(caller.app, who);
    } catch (error) {
      this.take(who, -1);
      throw error;
    }
  }

  private async counted(app: AppId, who: string): Promise<Seat> {
    const { keyring, engine, connections, reachedQuotas } = this.parts;
    const cap = keyring.app(app)?.maxConcurrentConnections ?? null;
    if (cap !== null) {
      const claim = await engine.claim(app, cap);
      if (!claim) {
        reachedQuotas.refused(app, "connections", cap);
        throw new Problem("rate_limited", "The application has as many connections as it may have.", RETRY_SECONDS);
      }
      connections.readerCame(spaceOf(app));
      claim.end();
    } else connections.readerCame(spaceOf(app));
    let isOver = false;
    return {
      end: () => {
        if (isOver) return;
        isOver = true;
        this.take(who, -1);
        connections.readerLeft(spaceOf(app));
      },
    };
  }

  private take(who: string, by: 1 | -1): void {
    this.taken += by;
    // For backends, only the node and the application have a limit.
    if (who === "") return;
    const now = (this.takenBy.get(who) ?? 0) + by;
    if (now > 0) this.takenBy.set(who, now);
    else this.takenBy.delete(who);
  }

  add(reader: LiveReader): void {
    this.readers.add(reader);
    // What has changed before it was added was not looked at.
    this.look(reader, this.parts.clock.monotonicMs());
    if (this.isSweeping) return;
    this.isSweeping = true;
    this.sweepLater();
  }

  remove(reader: LiveReader): void {
    this.readers.delete(reader);
  }

  /** Their clients come back, to other nodes. */
  drain(): void {
    for (const reader of this.readers) this.parts.guarded(() => reader.end());
  }

  private sweepLater(): void {
    this.parts.clock.after(SWEEP_EVERY_MS, () => {
      this.parts.swept();
      this.pass = this.readers.values();
      this.parts.slices.add(this);
    });
  }

  goOn(untilMs: number): boolean {
    const { clock, guarded } = this.parts;
    for (let nowMs = clock.monotonicMs(); this.pass; nowMs = clock.monotonicMs()) {
      const { value: reader } = this.pass.next();
      if (!reader) {
        this.pass = undefined;
        this.sweepLater();
        return true;
      }
      guarded(() => this.look(reader, nowMs));
      if (nowMs >= untilMs) return false;
    }
    return true;
  }

  private look(reader: LiveReader, nowMs: number): void {
    const now = this.parts.keyring.app(reader.caller.app) && callerNow(reader.caller, this.parts);
    if (!now) return reader.end();
    if (now !== reader.caller) {
      const { permissions } = now;
      if (!permits(permissions, SUBSCRIBE) || !covers(permissions, reader.channel)) return reader.end();
      reader.caller = now;
    }
    reader.tick(nowMs);
  }
}

function callerKey(call: Call, { kind, app, author }: Caller): string {
  if (kind === "secret") return "";
  return kind === "token" ? `${app} ${author.from}` : `${app} ${rateKey(call.client)}`;
}
