/** For tests with random input: how many times they run. */

/** In full runs that many; otherwise a fifth, because every change is tested. */
export const runs = (count: number): number => (process.env.PARLEY_TEST_FULL ? count : Math.ceil(count / 5));
