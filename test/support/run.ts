/** What all test files of a suite share in `npm test`: made once per process, and closed after its last file (run-end.ts). */
import { refuseLeftRunning } from "./left-running.ts";
import { refuseLeaks } from "./seen-credentials.ts";

/** Set beside the preloaded run-end.ts. In a process without it, nothing would close what is shared. */
export const IS_SHARING = process.env.PARLEY_TEST_SHARING === "1";

const closings: (() => Promise<unknown>)[] = [];

export function closeAtEndOfRun(close: () => Promise<unknown>): void {
  closings.push(close);
}

export async function endRun(): Promise<void> {
  await Promise.all(closings.splice(0).map((close) => close()));
  try {
    await refuseLeftRunning();
  } finally {
    // Those of servers that no one has stopped by a call.
    refuseLeaks();
  }
}
