/** Like src/main.ts, but without await at the top level, which a bundle with bytecode cannot have. */
import { dispatch } from "../../src/cli/dispatch.ts";

void dispatch(process.argv.slice(2), process.env).then((exitCode) => {
  if (exitCode !== undefined) process.exit(exitCode);
});
