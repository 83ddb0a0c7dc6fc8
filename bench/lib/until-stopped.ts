/** A signal ends a benchmark as an error does, so that the servers it has started are stopped. */
export async function untilStopped<T>(work: Promise<T>): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (signal: NodeJS.Signals): void => reject(new Error(`stopped by ${signal}`));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  try {
    return await Promise.race([work, stopped]);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}
