/** Parley's command line. */
import { dispatch } from "./cli/dispatch.ts";

const exitCode = await dispatch(process.argv.slice(2), process.env);
// Without one the command goes on running: a server.
if (exitCode !== undefined) process.exit(exitCode);
