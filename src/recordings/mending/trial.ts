/** Mends a tiny recording the way real ones are mended, to find out whether that works before someone's recording does not. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sharedCheck } from "../../telemetry/shared-check.ts";
import { CHECK_FOLDER_PREFIX, type MendingFolder } from "./folder.ts";
import { type Mender, MendingStopped } from "./mender.ts";

/** Two pictures of four bytes, as a recorder writes them: without a duration and an index. */
const SAMPLE = Buffer.from(
  [
    "GkXfowEAAAAAAAAOQoIBAAAAAAAABHdlYm0YU4BnAf////////8VSalmAQAAAAAAAA4q17EBAAAAAAAAAw9CQBZUrmsBAAAAAAAAyK4BAAAAAAAAS9cBAAAA",
    "AAAAAQFzxQEAAAAAAAABAYMBAAAAAAAAAQGGAQAAAAAAAAVWX1ZQOOABAAAAAAAAFbABAAAAAAAAAgFAugEAAAAAAAABtK4BAAAAAAAAa9cBAAAAAAAAAQJz",
    "xQEAAAAAAAABAoMBAAAAAAAAAQKGAQAAAAAAAAZBX09QVVNjogEAAAAAAAATT3B1c0hlYWQBATgBgLsAAAAAAOEBAAAAAAAAF7UBAAAAAAAABEc7gACfAQAA",
    "AAAAAAEBH0O2dQH/////////5wEAAAAAAAABAKMBAAAAAAAACIEAAIAAAAAAowEAAAAAAAAIgQAoAAEBAQE=",
  ].join(""),
  "base64",
);

/** Each trial starts a process, which takes about 0.3 s of CPU time. */
const TRY_EVERY_MS = { afterSuccess: 300_000, afterFailure: 5000 };
/** The first trial may still run then; it counts as a success until it has ended. */
const ANSWER_WITHIN_MS = 1500;

interface MendingTrialParts {
  /** Not the one that mends recordings: that mends one file at a time. */
  readonly mender: Mender;
  readonly folder: MendingFolder;
  readonly monotonicMs: () => number;
  /** It no longer works, with the reason; or works again. */
  readonly changed: (works: boolean, why: unknown) => void;
}

export class MendingTrial {
  /** Whether a recording can be mended. */
  readonly works: () => Promise<boolean>;
  private last = true;

  constructor(private readonly parts: MendingTrialParts) {
    this.works = sharedCheck({
      check: () => this.run(),
      validMs: (works) => (works ? TRY_EVERY_MS.afterSuccess : TRY_EVERY_MS.afterFailure),
      isGood: (works) => works,
      late: { afterMs: ANSWER_WITHIN_MS, result: true },
      monotonicMs: parts.monotonicMs,
    });
  }

  /** As last found; asking causes the next trial. */
  get hasWorked(): boolean {
    void this.works();
    return this.last;
  }

  stop(): Promise<void> {
    return this.parts.mender.stop();
  }

  /** Makes one trial, however long it takes. */
  async run(): Promise<boolean> {
    const why = await this.mend().catch((error: unknown) => (error instanceof MendingStopped ? undefined : error));
    const works = why === undefined;
    if (works !== this.last) this.parts.changed(works, why);
    this.last = works;
    return works;
  }

  /** undefined: it was mended. */
  private async mend(): Promise<unknown> {
    const { folder, mender } = this.parts;
    if (!(await folder.hasSpace(SAMPLE.length))) return new Error("the data folder has too little space");
    return folder.during(`${CHECK_FOLDER_PREFIX}${process.pid}`, async (temporary) => {
      const path = join(temporary, "recorded");
      await writeFile(path, SAMPLE, { mode: 0o600 });
      const mended = await mender.mend({ path, format: "webm", size: SAMPLE.length }, join(temporary, "mended"));
      return mended.outcome === "mended" ? undefined : new Error(mended.why);
    });
  }
}
