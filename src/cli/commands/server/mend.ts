/** `parley mend`: the process that src/recordings/mending/process-mender.ts starts. It answers with one line of JSON. */
import { remux } from "../../../recordings/mending/media/remux.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";

export async function mend({ operands }: Input): Promise<CommandResult> {
  endWithParent();
  const [input = "", output = ""] = operands;
  const value = await remux(input, output).catch((error: unknown) => ({
    why: error instanceof Error ? error.message : String(error),
    // An error with a code is the system's, such as a full disk, or the runtime's, such as a module that is missing.
    isOfFile: error instanceof Error && !("code" in error),
  }));
  return { value, text: `${JSON.stringify(value)}\n` };
}

/** The service holds the other end of this process's standard input, and it closes however the service ends. */
function endWithParent(): void {
  const end = (): never => process.exit(1);
  process.stdin.on("end", end).on("error", end).resume();
}
