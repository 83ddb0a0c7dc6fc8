/** How exactly tests measure time: in full runs, in which a suite has the machine to itself, as the specification says. */
export const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

/** How much later than it must a test may see something happen while other suites keep all cores busy. */
export const SLACK_MS = IS_FULL ? 0 : 5000;
