/** `parley version`. */
import { VERSION } from "../version.ts";
import type { Answer } from "./command.ts";

export const version = async (): Promise<Answer> => ({
  value: { version: VERSION, bun: Bun.version },
  text: `parley ${VERSION} (Bun ${Bun.version})\n`,
});
