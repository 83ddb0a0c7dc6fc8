/** Whether everything runs, and not a sample. */
export const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

/** How exactly tests measure time: as the specification says, in full runs of a suite that has the machine to itself. */
export const IS_EXACT = IS_FULL && process.env.PARLEY_TEST_BESIDE !== "1";

/** How much later than it must a test may see something happen while other suites keep all cores busy. */
export const SLACK_MS = IS_EXACT ? 0 : 5000;
