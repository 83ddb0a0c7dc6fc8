/** Polls until the condition holds; returns how long that took. */
export async function until(
  lacking: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = 15_000,
): Promise<number> {
  const began = performance.now();
  while (!(await holds())) {
    if (performance.now() - began > withinMs) throw new Error(`after ${withinMs} ms: ${lacking}`);
    await Bun.sleep(10);
  }
  return performance.now() - began;
}
