/** Parley's command line. */
import { LOOPBACK, withoutProxy } from "./base/proxies.ts";
import { refusalOf } from "./base/self.ts";
import { tune } from "./base/tuning.ts";

const argv = process.argv.slice(2);
const refusal = refusalOf(argv, process.env);
if (refusal !== undefined) {
  console.error(`parley: ${refusal}`);
  process.exit(1);
}
tune();
withoutProxy(LOOPBACK);
// Loaded last: where `tune` replaces the process, loading it would be in vain.
const { dispatch } = await import("./cli/dispatch.ts");
const exitCode = await dispatch(argv, process.env);
// No exit code: the command is a server, which keeps running.
if (exitCode !== undefined) process.exit(exitCode);
