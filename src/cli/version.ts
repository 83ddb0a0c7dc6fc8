/** `parley version`. */
import { VERSION } from "../version.ts";
import type { CommandResult } from "./line/command.ts";

export const version = async (): Promise<CommandResult> => ({
  value: { version: VERSION, bun: Bun.version },
  text: `parley ${VERSION} (Bun ${Bun.version})\n`,
});
