/** Servers that tests have started and not stopped: each would stay behind when the suite has ended. */

interface Running {
  readonly startedBy: string;
  end(): Promise<unknown>;
}

const running = new Map<object, Running>();

/** `end` is called at the end of the suite, unless `stopped` was before. */
export function started(server: object, end: () => Promise<unknown>): void {
  running.set(server, { startedBy: new Error("started here").stack ?? "", end });
}

export function stopped(server: object): void {
  running.delete(server);
}

/** Ends those that are left, and says which tests have left them. */
export async function refuseLeftRunning(): Promise<void> {
  const left = [...running.values()];
  await Promise.all(left.map(({ end }) => end()));
  if (left.length > 0)
    throw new Error(`servers were not stopped by their tests:\n${left.map(({ startedBy }) => startedBy).join("\n")}`);
}
