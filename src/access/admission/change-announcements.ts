/**
 * Announces changes of this node to the others. They read what is new from the store, also without it. What a change takes away is another matter: a node that cannot read the
 * store hears of it only from here, so it is announced again if it may not have reached every node, as while NATS is away.
 */
import type { AppId } from "../../base/ids.ts";
import { SharedMap } from "../../base/shared-map.ts";
import { encodeWithdrawn, type Withdrawn } from "../keys/withdrawn.ts";

/** Withdrawals that are kept to be announced again; the oldest of the application that has the most are given up. */
export const KEPT_MAX = 1000;
/** How many of them are announced at once. */
export const REPEATED_AT_ONCE = 50;
/** How often one is announced to nodes that do not answer. A node that cannot read the store takes longer to answer than is waited for. */
export const UNANSWERED_MAX = 5;

/** As the engine says: every node has answered, some have not in time, or none was reached because the transport is down. */
export type Announced = "answered" | "unanswered" | "unsent";

interface Kept {
  readonly owner: string;
  readonly withdrawn: Withdrawn;
  unanswered: number;
}

export class ChangeAnnouncements {
  /** By what was taken away. Bound: KEPT_MAX. */
  private readonly kept = new SharedMap<Kept>(KEPT_MAX);

  constructor(private readonly send: (withdrawn: string | undefined) => Promise<Announced>) {}

  get size(): number {
    return this.kept.size;
  }

  /** `app`: whose change it is; absent for operators. */
  async announce(withdrawn: Withdrawn | undefined, app?: AppId): Promise<void> {
    if (!withdrawn) {
      await this.send(undefined);
      return;
    }
    const one: Kept = { owner: app ?? "", withdrawn, unanswered: 0 };
    // Before it is sent: the node may be stopping, or asked to repeat, while it waits for the answers.
    this.kept.set(one.owner, keyOf(one), one);
    await this.sendOne(one);
  }

  /** Every few seconds. */
  async repeat(): Promise<void> {
    const [first, ...more] = [...this.kept].slice(0, REPEATED_AT_ONCE).map(([, one]) => one);
    if (!first || (await this.sendOne(first)) === "unsent") return;
    await Promise.all(more.map((one) => this.sendOne(one)));
  }

  private async sendOne(one: Kept): Promise<Announced> {
    const announced = await this.send(encodeWithdrawn(one.withdrawn));
    if (announced === "unanswered") one.unanswered++;
    const isOver = announced === "answered" || one.unanswered >= UNANSWERED_MAX;
    // A later change of the same key has taken its place otherwise.
    if (isOver && this.kept.get(keyOf(one)) === one) this.kept.delete(one.owner, keyOf(one));
    return announced;
  }
}

const keyOf = ({ withdrawn: { kind, id } }: Kept): string => `${kind} ${id}`;
