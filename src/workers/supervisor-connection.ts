/** A worker's connection to its supervisor: heartbeats, the state of the team, and rates that all workers share. */
import { type MakeThrottle, SHARE_EVERY_MS, SharedRates } from "../base/shared-throttle.ts";
import type { Team, TeamState } from "../node/parts/team.ts";
import { BEAT_EVERY_MS } from "./limits.ts";
import { connectLines, type Lines } from "./lines.ts";
import type { Begin, FromWorker, Ready, StartReport, ToWorker } from "./messages.ts";
import { controlSocket, storeSocket } from "./run-folder.ts";

/** The supervisor asks all workers, and waits a second for them. */
const GATHER_MAX_MS = 2000;

export interface TeamEvents {
  drain(): void;
  reloadTls(): void;
  /** The supervisor has ended. */
  orphaned(): void;
}

/** Until the node has started, there is nothing to drain. */
const BEFORE_START: TeamEvents = {
  drain: () => process.exit(0),
  reloadTls: () => undefined,
  orphaned: () => process.exit(1),
};

export class SupervisorConnection implements Team {
  state: TeamState;
  private readonly rates = new SharedRates(
    () => performance.now(),
    () => this.shareSoon(),
  );
  readonly throttle: MakeThrottle = this.rates.make;
  private measure: () => string = () => "";
  private begins: (() => void) | undefined;
  private isPaused = false;
  private applyPause: ((isPaused: boolean) => void) | undefined;
  /** Bound: requests to `/metrics` under way, at most two seconds each. */
  private readonly asked = new Map<number, (text: string) => void>();
  private lastId = 0;
  private readonly beat: ReturnType<typeof setInterval>;
  private sharing: ReturnType<typeof setTimeout> | undefined;

  private constructor(
    readonly slot: number,
    readonly folder: string,
    readonly begin: Begin,
    private readonly lines: Lines<ToWorker, FromWorker>,
    public events: TeamEvents,
  ) {
    this.state = { ready: 0, count: begin.slots - 1, isStopping: false, lead: null, reports: {} };
    lines.events = { received: (message) => this.received(message), closed: () => this.events.orphaned() };
    this.beat = setInterval(() => this.send({ type: "beat" }), BEAT_EVERY_MS);
  }

  /** Resolves when the supervisor has said what to start. */
  static async join(slot: number, folder: string, events = BEFORE_START): Promise<SupervisorConnection> {
    const { promise, resolve, reject } = Promise.withResolvers<Begin>();
    // What arrives together with the first message, before there is a connection that reads it. Bound: one read of the socket.
    const early: ToWorker[] = [];
    let isClosed = false;
    const lines = await connectLines<ToWorker, FromWorker>(controlSocket(folder), {
      received: (message) => {
        if (message.type === "begin") resolve(message);
        else early.push(message);
      },
      closed: () => {
        isClosed = true;
        reject(new Error("the supervisor has ended"));
      },
    });
    lines.send({ type: "hello", slot, pid: process.pid });
    const connection = new SupervisorConnection(slot, folder, await promise, lines, { ...events });
    for (const message of early) connection.received(message);
    if (isClosed) connection.events.orphaned();
    return connection;
  }

  get slots(): number {
    return this.begin.slots;
  }

  get storePath(): string | undefined {
    return this.begin.config.databaseUrl === "" ? storeSocket(this.folder) : undefined;
  }

  ready(ready: Ready): void {
    this.send({ type: "ready", ...ready });
  }

  failed(report: StartReport): void {
    this.send({ type: "failed", ...report });
  }

  draining(): void {
    this.send({ type: "draining" });
  }

  report(found: Readonly<Record<string, string>>): void {
    this.send({ type: "report", found });
  }

  full(isFull: boolean): void {
    this.send({ type: "full", isFull });
  }

  onPause(apply: (isPaused: boolean) => void): void {
    this.applyPause = apply;
  }

  onLead(begin: () => void): void {
    this.begins = begin;
    this.lead();
  }

  onMeasure(read: () => string): void {
    this.measure = read;
  }

  async metrics(): Promise<string> {
    const id = ++this.lastId;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.asked.set(id, resolve);
    const timer = setTimeout(() => resolve(this.measure()), GATHER_MAX_MS);
    this.send({ type: "gather", id });
    const text = await promise;
    clearTimeout(timer);
    this.asked.delete(id);
    return text;
  }

  /** The last message: the counts of this worker stay in the sums. */
  async close(): Promise<void> {
    clearInterval(this.beat);
    this.events.orphaned = () => undefined;
    this.send({ type: "ending", text: this.measure() });
    await this.lines.end();
  }

  private send(message: FromWorker): void {
    this.lines.send(message);
  }

  private lead(): void {
    if (this.state.lead !== this.slot) return;
    const { begins } = this;
    this.begins = undefined;
    begins?.();
  }

  private pause(): void {
    const isPaused = this.state.paused?.includes(this.slot) === true;
    if (isPaused === this.isPaused) return;
    this.isPaused = isPaused;
    this.applyPause?.(isPaused);
  }

  private shareSoon(): void {
    this.sharing ??= setTimeout(() => this.shareRates(), SHARE_EVERY_MS);
  }

  private shareRates(): void {
    this.sharing = undefined;
    const rates = this.rates.takeNotes();
    if (rates) this.send({ type: "took", rates });
  }

  private received(message: ToWorker): void {
    switch (message.type) {
      case "state":
        this.state = message;
        this.pause();
        return this.lead();
      case "drain":
        return this.events.drain();
      case "reload-tls":
        return this.events.reloadTls();
      case "took":
        return this.rates.takenElsewhere(message.rates);
      case "measure":
        return this.send({ type: "measured", id: message.id, text: this.measure() });
      case "gathered":
        return this.asked.get(message.id)?.(message.text);
      case "begin":
      case "reloaded":
      case "refused":
        return;
    }
  }
}
