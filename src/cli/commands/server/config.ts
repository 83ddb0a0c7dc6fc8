/** `parley config`: the settings that a server started here would use, and where each comes from. It asks no running server. */
import { loadConfig } from "../../../config/load.ts";
import { keyOf, NAMES } from "../../../config/settings.ts";
import { shownValue } from "../../../config/show.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";
import { table } from "../../terminal/output.ts";

const NOT_THE_RUNNING_ONE =
  "A server started here, with these flags and this environment, would use these settings. A running server may use others: its dashboard shows them under Settings.";

export async function showConfig({ flags, env }: Input): Promise<CommandResult> {
  const loaded = loadConfig(flags, env);
  const settings = NAMES.map((name) => {
    const value: unknown = loaded.config[name];
    const shown = shownValue(name, loaded);
    const source = loaded.sources[name];
    return { key: keyOf(name), shown, source, value: ["number", "boolean"].includes(typeof value) ? value : shown };
  });
  return {
    value: Object.fromEntries(settings.map(({ key, value, source }) => [key, { value, source }])),
    text: table(
      ["SETTING", "VALUE", "FROM"],
      settings.map(({ key, shown, source }) => [key, shown, source]),
    ),
    notes: [...loaded.warnings, NOT_THE_RUNNING_ONE],
  };
}
