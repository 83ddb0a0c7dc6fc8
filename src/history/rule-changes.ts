/**
 * Brings stored history in line with channel rules. Where a rule no longer keeps history, its streams are forgotten, so that history
 * which is switched on again begins a new epoch. Otherwise a client could recover over the time without history, and would not
 * notice what it has missed. Created streams whose channel has no such rule any more are deleted in the same way.
 *
 * Every node does this after every change of rules: the node that made the change may end before it has. Once more a little later,
 * because a node that had not heard of the change may have stored something meanwhile. At the start, for every application.
 */
import type { Clock } from "../base/clock.ts";
import { type AppId, roomSpaceOf, type SpaceId, spaceOf, streamSpaceOf } from "../base/ids.ts";
import type { ChannelRules, Retention } from "../protocol/patterns/channel-rules.ts";
import type { HistoryStore } from "./contract/history.ts";

/** By then every node knows the rules, and no message is on its way to the store under earlier ones. */
const AGAIN_AFTER_MS = 2000;
const RETRY_FIRST_MS = 1000;
const RETRY_MAX_MS = 30_000;
/** How long a change of rules waits for what an earlier one has left to do. */
const SETTLE_MAX_MS = 10_000;

interface RuleChangesParts {
  readonly history: Pick<HistoryStore, "applyRules" | "removeSpace"> & {
    readonly created: Pick<HistoryStore["created"], "applyRules">;
  };
  readonly keyring: {
    rulesOf(spaceId: SpaceId): ChannelRules;
    onRulesChange(listener: (app: AppId) => void): void;
    onDeletion(listener: (app: AppId) => void): void;
    /** `undefined`: the application was deleted. */
    app(id: string): object | undefined;
  };
  readonly clock: Pick<Clock, "after">;
  /** Called for each try that has failed; another follows. */
  readonly failed: (error: unknown, app: AppId) => void;
}

interface Pending {
  /** One more run follows after this one. */
  readonly isRepeated: boolean;
  /** Streams of channels without history may exist. */
  readonly hasLeftovers: boolean;
  readonly failures: number;
  readonly done: PromiseWithResolvers<void>;
}

export class RuleChanges {
  // Bound: one per application whose rules have changed in the last seconds; after the start, one per application.
  private readonly pending = new Map<AppId, Pending>();
  // Bound: one per live application.
  private readonly withHistory = new Set<AppId>();
  /** One run at a time: it is work for the same store. */
  private running: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(private readonly parts: RuleChangesParts) {
    parts.keyring.onRulesChange((app) => this.noticed(app));
    // Its rooms have history even if none of its rules keeps any.
    parts.keyring.onDeletion((app) => this.noticed(app));
  }

  /** To be called once with all live applications. Does its work in the background. */
  start(apps: Iterable<AppId>): void {
    for (const app of apps) {
      this.noteHistory(app);
      this.plan(app, { isRepeated: false, hasLeftovers: true }, 0);
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.running;
  }

  /**
   * Resolves when nothing is left of channels whose history or streams earlier rules have switched off; only then may rules switch it on again.
   * False: that takes too long, because the store of history cannot be used.
   */
  settled(app: AppId): Promise<boolean> {
    const pending = this.pending.get(app);
    if (!pending?.hasLeftovers) return Promise.resolve(true);
    const tooLate = new Promise<boolean>((resolve) => this.parts.clock.after(SETTLE_MAX_MS, () => resolve(false)));
    return Promise.race([pending.done.promise.then(() => true), tooLate]);
  }

  private noticed(app: AppId): void {
    const hadHistory = this.withHistory.has(app);
    this.noteHistory(app);
    this.plan(app, { isRepeated: true, hasLeftovers: hadHistory }, 0);
  }

  private noteHistory(app: AppId): void {
    if (this.parts.keyring.rulesOf(spaceOf(app)).rules.some(({ history, stream }) => history ?? stream))
      this.withHistory.add(app);
    else this.withHistory.delete(app);
  }

  private plan(
    app: AppId,
    next: Pick<Pending, "isRepeated" | "hasLeftovers"> & { failures?: number },
    inMs: number,
  ): void {
    const earlier = this.pending.get(app);
    const pending: Pending = {
      isRepeated: next.isRepeated,
      hasLeftovers: next.hasLeftovers || earlier?.hasLeftovers === true,
      failures: next.failures ?? 0,
      done: earlier?.done ?? Promise.withResolvers(),
    };
    this.pending.set(app, pending);
    this.parts.clock.after(inMs, () => {
      this.running = this.running.then(() => this.run(app, pending));
    });
  }

  private async run(app: AppId, pending: Pending): Promise<void> {
    // Another change came in between, and its run is planned.
    if (this.isStopped || this.pending.get(app) !== pending) return;
    const error = await this.apply(app).then(
      () => undefined,
      (reason: unknown) => ({ reason }),
    );
    if (error) this.parts.failed(error.reason, app);
    if (this.isStopped || this.pending.get(app) !== pending) return;
    if (error) this.plan(app, { ...pending, failures: pending.failures + 1 }, retryAfter(pending.failures));
    else if (pending.isRepeated) this.plan(app, { ...pending, isRepeated: false, failures: 0 }, AGAIN_AFTER_MS);
    else {
      this.pending.delete(app);
      pending.done.resolve();
    }
  }

  private async apply(app: AppId): Promise<void> {
    const { history, keyring } = this.parts;
    if (!keyring.app(app)) {
      await history.created.applyRules(streamSpaceOf(app), () => false);
      await history.removeSpace(roomSpaceOf(app));
      return history.removeSpace(spaceOf(app));
    }
    // The same rules for all channels, even if they change while this runs.
    const rules = keyring.rulesOf(spaceOf(app));
    await history.applyRules(spaceOf(app), (channel): Retention | undefined => rules.ruleFor(channel)?.history);
    await history.created.applyRules(streamSpaceOf(app), (channel) => rules.ruleFor(channel)?.stream !== undefined);
  }
}

const retryAfter = (failures: number): number => Math.min(RETRY_FIRST_MS * 2 ** failures, RETRY_MAX_MS);
