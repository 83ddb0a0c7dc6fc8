/** For tests: the program of `Commands`, which runs one command line after another. */
import { dispatch } from "../dispatch.ts";
import { write } from "../terminal/output.ts";
import { type CommandLine, END } from "./commands.ts";

for await (const line of console) {
  const { args, cwd, env } = JSON.parse(line) as CommandLine;
  if (cwd !== undefined) process.chdir(cwd);
  const exitCode = await dispatch(args, env);
  await write(Bun.stdout, END);
  await write(Bun.stderr, `${END}${exitCode}${END}`);
}
