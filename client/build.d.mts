/** Builds into `dist`, which is replaced. */
export function buildPackage(dist: string): Promise<void>;
