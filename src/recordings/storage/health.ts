/** Whether the storage of recordings can be used now: asked by /readyz and the metrics, and checked at most every few seconds. */
import { sharedCheck } from "../../telemetry/shared-check.ts";
import type { Ownership } from "./ownership.ts";
import { type Storage, StorageFull, StorageMissing, StorageUnwritable } from "./storage.ts";

export type StorageState = "ok" | "full" | "missing" | "unwritable" | "unreachable";

/** After a failure sooner, so that recovery is noticed soon. */
const CHECK_EVERY_MS = { afterSuccess: 5000, afterFailure: 2000 };
/** /readyz answers within this time even if a bucket or a network file system hangs; health checks often wait two seconds. */
const ANSWER_WITHIN_MS = 1500;

export interface StorageHealthParts {
  readonly storage: Pick<Storage, "check">;
  readonly ownership: Pick<Ownership, "isMissing">;
  readonly monotonicMs: () => number;
  /** The state is another one, with the error that says why. */
  readonly changed: (state: StorageState, error: unknown) => void;
}

export class StorageHealth {
  readonly state: () => Promise<StorageState>;
  private last: StorageState = "ok";

  constructor(private readonly parts: StorageHealthParts) {
    const ask = sharedCheck<StorageState>({
      check: () => this.find(),
      validMs: (state) => (state === "ok" ? CHECK_EVERY_MS.afterSuccess : CHECK_EVERY_MS.afterFailure),
      isGood: (state) => state === "ok",
      late: { afterMs: ANSWER_WITHIN_MS, result: "unreachable" },
      monotonicMs: parts.monotonicMs,
    });
    this.state = async () => {
      const state = await ask();
      // It was noted already, with its cause, unless the check still runs.
      this.found(state, new Error("it takes too long to answer"));
      return state;
    };
  }

  /** As last found; asking causes the next check, so that the metrics are right without anyone asking /readyz. */
  get isUp(): boolean {
    void this.state();
    return this.last === "ok";
  }

  private async find(): Promise<StorageState> {
    const [state, error] = await this.examine();
    this.found(state, error);
    return state;
  }

  private found(state: StorageState, error: unknown): void {
    if (state === this.last) return;
    this.last = state;
    this.parts.changed(state, error);
  }

  private async examine(): Promise<[StorageState, unknown?]> {
    try {
      await this.parts.storage.check();
    } catch (error) {
      return [stateOf(error), error];
    }
    // It reads the store too. A store that does not answer is another check's finding.
    const isMissing = await this.parts.ownership.isMissing().catch(() => false);
    return [isMissing ? "missing" : "ok"];
  }
}

function stateOf(error: unknown): StorageState {
  if (error instanceof StorageFull) return "full";
  if (error instanceof StorageMissing) return "missing";
  return error instanceof StorageUnwritable ? "unwritable" : "unreachable";
}
