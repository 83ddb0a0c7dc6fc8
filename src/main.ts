/** Parley's command line. */
import { parseArgs, UsageError } from "./cli/args.ts";
import { up } from "./cli/up.ts";
import { ConfigError, loadConfig } from "./config/load.ts";
import { StoreError } from "./store/store.ts";

try {
  const { words, flags } = parseArgs(process.argv.slice(2), ["json", "help"]);
  if (words[0] !== "up") throw new UsageError("parley up");
  await up(loadConfig(flags, process.env));
} catch (error) {
  if (!(error instanceof UsageError || error instanceof ConfigError || error instanceof StoreError)) throw error;
  process.stderr.write(`parley: ${error.message}\n`);
  process.exit(2);
}
