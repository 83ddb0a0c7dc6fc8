/** Suites that were written for one process also run against several workers. */

/** How many workers the service under test has. */
export const WORKERS = Number(process.env.PARLEY_TEST_WORKERS || 1);

const SHARED_WITHIN_MS = 500;

/** Workers tell each other ten times a second what a key or an address has taken. In a shorter burst each of them gives all it has. */
export const ratesAreShared = async (): Promise<void> => {
  if (WORKERS > 1) await Bun.sleep(SHARED_WITHIN_MS);
};
