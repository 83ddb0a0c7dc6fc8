/** Parley's command line. */
import { dispatch } from "./cli/dispatch.ts";

const exitCode = await dispatch(process.argv.slice(2), process.env);
// No exit code: the command is a server, which keeps running.
if (exitCode !== undefined) process.exit(exitCode);
