/** Programs that the release calls. */

export interface Options {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a program prints on stdout. One that fails ends the release with its output. */
export async function output(command: readonly string[], { cwd, env = {} }: Options = {}): Promise<string> {
  const child = Bun.spawn([...command], {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [printed, complaint, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(" ")} failed with ${code}:\n${printed}${complaint}`.trimEnd());
  return printed;
}
