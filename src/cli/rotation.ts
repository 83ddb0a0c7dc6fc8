/** What `keys rotate` and `apps rotate-secret` take. */
import type { Flag } from "./command.ts";
import { UsageError } from "./errors.ts";
import type { Given } from "./given.ts";

export const ROTATION: readonly Flag[] = [
  {
    name: "grace",
    value: "SECONDS",
    meaning: "how long the present secret still works; 0: not at all (the server's setting, 86400)",
  },
  { name: "retire-previous", meaning: "after a leak: every earlier secret ends now" },
];

/** What was not given is undefined, and so not in the JSON. */
export function rotation(given: Given): { graceSec: number | undefined; retirePrevious: true | undefined } {
  const retirePrevious = given.on("retire-previous") || undefined;
  const graceSec = given.whole("grace");
  if (retirePrevious && graceSec !== undefined)
    throw new UsageError("--retire-previous ends every earlier secret now: --grace has no meaning beside it");
  return { graceSec, retirePrevious };
}
