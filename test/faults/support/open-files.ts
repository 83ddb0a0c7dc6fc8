/** Servers that may open few files. */
import type { Options } from "../../support/parley.ts";

export const filesLimitedTo = (limit: number): Pick<Options, "wrap"> => ({
  wrap: ["sh", "-c", 'ulimit -n "$1"; shift; exec "$@"', "sh", String(limit)],
});
