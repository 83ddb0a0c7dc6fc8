/** Events during a soak: clients leave, return, lose their network, are kicked; keys are rotated and edited. */
import { Findings, type Problem } from "../../src/verify/findings.ts";
import { call } from "../support/http.ts";
import type { Crowd, Seat } from "./crowd.ts";
import { KEYS, type SoakKeys } from "./keys.ts";
import type { SoakNodes } from "./nodes.ts";

const LOOK_EVERY_MS = 20;

export interface ChoreFigures {
  leaves: number;
  rejoins: number;
  departures: number;
  cuts: number;
  kicks: number;
  blocks: number;
  rotations: number;
  edits: number;
  narrowings: number;
}

/** Per minute and connection. */
const LEAVES = 1 / 20;
const DEPARTURES = 1 / 50;
const CUTS = 1 / 50;
const KICKS = 1 / 100;
/** The duration of a kick's block. */
const BLOCK_EVERY = 5;
const BLOCK_SECONDS = 2;
const AWAY_MAX_MS = 4000;
const KICKED_WITHIN_MS = 10_000;
const NARROWED_WITHIN_MS = 10_000;
const TICK_MS = 200;
const CALL_TRIES = 20;
const CALL_PAUSE_MS = 250;

export class Chores {
  readonly figures: ChoreFigures = {
    leaves: 0,
    rejoins: 0,
    departures: 0,
    cuts: 0,
    kicks: 0,
    blocks: 0,
    rotations: 0,
    edits: 0,
    narrowings: 0,
  };
  private readonly found = new Findings();
  private readonly busy = new Set<Seat>();
  private readonly underWay = new Set<Promise<void>>();
  private timer: Timer | undefined;
  private debts = new Map<() => void, number>();

  constructor(
    private readonly nodes: SoakNodes,
    private readonly crowd: Crowd,
    private readonly keys: SoakKeys,
    private readonly haste: number,
  ) {}

  get problems(): readonly Problem[] {
    return this.found.problems;
  }

  start(): void {
    const perTick = (this.crowd.seats.length * this.haste * TICK_MS) / 60_000;
    this.timer = setInterval(() => {
      this.pay(this.leave, LEAVES * perTick);
      this.pay(this.depart, DEPARTURES * perTick);
      this.pay(this.cut, CUTS * perTick);
      this.pay(this.kick, KICKS * perTick);
    }, TICK_MS);
  }

  /** Resolves when every client that was removed has returned, or is about to. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.underWay);
  }

  async rotate(graceSeconds: number): Promise<void> {
    await this.persistently("rotate a key", () => this.keys.rotate(this.nodes.admin, graceSeconds));
    this.figures.rotations++;
  }

  /** An edit without any effect on clients, then one that ends subscriptions and is undone. */
  async edit(key = this.figures.edits % KEYS): Promise<void> {
    await this.persistently("edit a key", () => this.keys.widen(this.nodes.admin, key));
    this.figures.edits++;
    const concerned = this.crowd.seats.filter((seat) => seat.isNarrow && seat.key === key);
    if (concerned.length === 0) return;
    await this.persistently("narrow a key", () => this.keys.narrow(this.nodes.admin, key));
    const isOut = ({ client }: Seat): boolean => !client.isListening;
    if (!(await until(() => concerned.every(isOut), NARROWED_WITHIN_MS)))
      this.found.add(
        "undone",
        `${concerned.filter((seat) => !isOut(seat)).length} of ${concerned.length} kept a channel that their key lost`,
      );
    await this.persistently("restore a key", () => this.keys.restore(this.nodes.admin, key));
    this.figures.narrowings++;
    for (const seat of concerned)
      if (seat.client.refusal !== undefined) this.crowd.replace(seat);
      else seat.client.join();
  }

  private pay(chore: () => void, amount: number): void {
    const debt = (this.debts.get(chore) ?? Math.random()) + amount;
    const due = Math.floor(debt);
    for (let i = 0; i < due; i++) chore();
    this.debts.set(chore, debt - due);
  }

  /** A connected client that no other chore is using. */
  private someone(): Seat | undefined {
    for (let tries = 0; tries < 10; tries++) {
      const seat = this.crowd.randomSeat();
      if (seat.client.isListening && !this.busy.has(seat)) return seat;
    }
    return undefined;
  }

  private during(seat: Seat, work: () => Promise<void>): void {
    this.busy.add(seat);
    const promise = work()
      .catch((error) => this.found.add("absent", `a chore failed: ${error}`))
      .finally(() => {
        this.busy.delete(seat);
        this.underWay.delete(promise);
      });
    this.underWay.add(promise);
  }

  private readonly leave = (): void => {
    const seat = this.someone();
    if (!seat) return;
    this.figures.leaves++;
    this.during(seat, async () => {
      seat.client.leave();
      await Bun.sleep(Math.random() * AWAY_MAX_MS);
      seat.client.join();
      this.figures.rejoins++;
    });
  };

  /** Closes its connection, and returns as a new client of the same name. */
  private readonly depart = (): void => {
    const seat = this.someone();
    if (!seat) return;
    this.figures.departures++;
    this.during(seat, async () => {
      seat.client.stop();
      await Bun.sleep(Math.random() * AWAY_MAX_MS);
      this.crowd.replace(seat);
    });
  };

  /** Its network fails: no close frame is sent. */
  private readonly cut = (): void => {
    const seat = this.someone();
    if (!seat) return;
    this.figures.cuts++;
    seat.client.terminate();
  };

  private readonly kick = (): void => {
    const seat = this.someone();
    if (!seat) return;
    const isBlocked = this.figures.kicks++ % BLOCK_EVERY === 0;
    if (isBlocked) this.figures.blocks++;
    this.during(seat, async () => {
      const { client } = seat;
      const before = client.tries;
      seat.isBlocked = isBlocked;
      const query = isBlocked ? `?blockSec=${BLOCK_SECONDS}` : "";
      await this.persistently("kick", () => this.remove(seat.peer, query));
      // Its connection must end. It may have ended with its node already, and the client may have reconnected to another one.
      if (!(await until(() => client.tries > before, KICKED_WITHIN_MS)))
        this.found.add("undone", `${seat.peer} was kicked, and is still connected`);
      if (isBlocked) await Bun.sleep(BLOCK_SECONDS * 1000);
      seat.isBlocked = false;
      this.crowd.replace(seat);
    });
  };

  private async remove(peer: string, query: string): Promise<void> {
    const { status, text } = await call(`${this.nodes.anyUrl}/v1/peers/${peer}${query}`, {
      method: "DELETE",
      bearer: this.keys.control.credential,
    });
    if (status !== 200) throw new Error(`DELETE: ${status} ${text}`);
  }

  /** A node that is ending refuses calls and breaks connections: then the caller tries another. Any other failure counts. */
  private async persistently(what: string, work: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        return await work();
      } catch (error) {
        if (!isPassing(error)) this.found.add("undone", `${what}: ${error}`);
        else if (tries < CALL_TRIES) {
          await Bun.sleep(CALL_PAUSE_MS);
          continue;
        } else this.found.add("undone", `${what}: failed ${tries} times, at last: ${error}`);
        return;
      }
  }
}

/** 503, or no response at all. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Error &&
  (/: 503 /.test(error.message) ||
    /Unable to connect|socket connection was closed|ECONNRE|timed out/i.test(error.message) ||
    ("code" in error && /^(ECONN|ConnectionRefused|ConnectionClosed)/.test(String(error.code))));

async function until(holds: () => boolean, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > deadline) return false;
    await Bun.sleep(LOOK_EVERY_MS);
  }
  return true;
}
