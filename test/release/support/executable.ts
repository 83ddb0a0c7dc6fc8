/** The single executable for tests: built once per file, and started as on a machine that has nothing else. */
import { Admin } from "../../support/admin.ts";
import { Server } from "../../support/parley.ts";

/** `npm run build` with these arguments; resolves with what it prints. */
export async function build(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([process.execPath, "--no-env-file", "scripts/build/build.ts", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

/** The same for a build that must succeed. */
export async function mustBuild(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await build(...args);
  if (code !== 0) throw new Error(`the build failed: ${err}`);
  return out;
}

type Variables = Readonly<Record<string, string>>;

/** The executable in a folder, with no environment but this: not even a path. */
export const bare = (executable: string, folder: string, env: Variables, ...args: readonly string[]): string[] => [
  "/usr/bin/env",
  "-i",
  `--chdir=${folder}`,
  ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
  executable,
  ...args,
];

/** Runs a command to its end. */
export async function run(
  executable: string,
  folder: string,
  args: readonly string[],
  env: Variables = {},
): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn(bare(executable, folder, env, ...args), { stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

/** `parley up` with its data in the default place. */
export async function startBare(
  executable: string,
  folder: string,
  { env = {}, flags = [] }: { env?: Variables; flags?: readonly string[] } = {},
): Promise<Server> {
  const command = bare(executable, folder, { PARLEY_LOG_FORMAT: "json", ...env }, "up", "--port", "0", ...flags);
  const server = new Server(command, {}, `${folder}/data`, false);
  const ready = await server.logged((line) => line.msg === "parley is ready");
  server.url = String(ready.url);
  server.admin = new Admin(server.url, server.keys.adminToken);
  return server;
}
