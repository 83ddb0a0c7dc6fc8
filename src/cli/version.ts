/** `parley version`. */
import { BUILD, VERSION } from "../version.ts";
import type { CommandResult } from "./line/command.ts";

/** Its beginning names a commit well enough for people. */
const LONG_HASH = /^([0-9a-f]{12})[0-9a-f]*/;

export async function version(): Promise<CommandResult> {
  const built =
    BUILD && `, commit ${BUILD.commit.replace(LONG_HASH, "$1")} of ${BUILD.date.slice(0, "2026-01-01".length)}`;
  return {
    value: { version: VERSION, bun: Bun.version, ...BUILD },
    text: `parley ${VERSION} (Bun ${Bun.version}${built ?? ""})\n`,
  };
}
