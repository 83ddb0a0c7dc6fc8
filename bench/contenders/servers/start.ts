/** The servers of this folder run on Node.js and print where they listen. */
import { join } from "node:path";
import { nodeModules, printed } from "../../lib/install.ts";
import { type Pinned, startPinned } from "../../lib/pinned.ts";

/** `name` of a package in bench/node_modules. */
export async function nodeVersion(title: string, name: string): Promise<{ version: string } | { missing: string }> {
  const missing = nodeModules();
  if (missing) return { missing: `${title} is not available: ${missing}` };
  const file = Bun.file(join(import.meta.dir, "../../node_modules", name, "package.json"));
  const { version } = (await file.json()) as { version: string };
  return { version: `${title} ${version} (Node ${printed(["node", "--version"]).slice(1)})` };
}

export const startNode = (file: string, env: Readonly<Record<string, string>> = {}): Promise<Pinned> =>
  startPinned(["node", join(import.meta.dir, file)], {
    env: { NODE_ENV: "production", ...env },
    ready: (output) => Number(/^port (\d+)$/m.exec(output)?.[1]) || undefined,
  });
