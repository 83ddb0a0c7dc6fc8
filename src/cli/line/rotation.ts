/** The flags of `keys rotate` and `apps rotate-secret`. */
import { SETTINGS } from "../../config/settings.ts";
import type { Flag } from "./command.ts";
import { UsageError } from "./errors.ts";
import { YES } from "./flags.ts";
import type { Input } from "./input.ts";

export const ROTATION: readonly Flag[] = [
  {
    name: "grace",
    value: "TIME",
    meaning: `how long the old secret keeps working, in seconds or as 12h, 7d; 0: it ends now (the server's setting, ${SETTINGS.rotationGraceSeconds.initial})`,
  },
  { name: "retire-previous", meaning: "end every earlier secret now, for example after a leak" },
  {
    ...YES,
    meaning:
      "do not ask for confirmation when secrets end now (--grace 0, --retire-previous); required without a terminal",
  },
];

interface Rotation {
  readonly graceSec: number | undefined;
  readonly retirePrevious: true | undefined;
}

/** Backends that still use the current secret are refused from then on. */
export const endsNow = ({ graceSec, retirePrevious }: Rotation): boolean => retirePrevious === true || graceSec === 0;

/** JSON leaves out undefined fields. */
export function rotation(input: Input): Rotation {
  const retirePrevious = input.isOn("retire-previous") || undefined;
  const graceSec = input.seconds("grace");
  if (retirePrevious && graceSec !== undefined)
    throw new UsageError("--retire-previous ends every earlier secret now, so --grace cannot be used with it");
  return { graceSec, retirePrevious };
}
