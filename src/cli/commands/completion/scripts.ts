/**
 * `parley completion`: what a shell needs to complete command lines. The scripts only ask `parley complete`, which knows the commands and
 * flags of the version that is installed, so that they need not be made anew after an upgrade.
 */
import { basename } from "node:path";
import { asCalled } from "../../../config/program.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { SHELLS } from "../../line/shells.ts";
import bash from "./parley.bash" with { type: "text" };
import fish from "./parley.fish" with { type: "text" };
import zsh from "./parley.zsh" with { type: "text" };

/** `parley complete` prints what the shell should add ("files", "folders" or "none"), then a line per candidate: itself, a tab, its meaning. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = { bash, zsh, fish };

export async function completion({ operands, env }: Input): Promise<CommandResult> {
  const named = operands[0] ?? basename(env.SHELL ?? "");
  const shell = SHELLS.find((one) => one === named);
  if (!shell)
    throw new UsageError(
      `${named === "" ? "SHELL is not set" : `there is no completion for ${JSON.stringify(named)}`}: name one of ${SHELLS.join(", ")}`,
    );
  const script = asCalled(SCRIPTS[shell]);
  return { value: { shell, script }, text: script };
}
