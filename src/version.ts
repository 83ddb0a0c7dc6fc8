import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;

/** From what an executable was built. */
export interface Build {
  /** Its full hash. */
  readonly commit: string;
  /** ISO 8601: that of the commit, unless the one who built it set another. */
  readonly date: string;
}

/** Replaced by scripts/build; sources have no such name. */
declare const PARLEY_BUILD: Build;

export const BUILD: Build | undefined = typeof PARLEY_BUILD === "undefined" ? undefined : PARLEY_BUILD;
