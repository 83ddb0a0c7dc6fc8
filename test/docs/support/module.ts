/** Runs a user's JavaScript where the public SDK is an installed package. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolder } from "../../support/temp.ts";
import { run } from "./child.ts";
import { PROJECT } from "./page.ts";

/** Node 20 has its WebSocket behind a flag, which later versions still accept. */
export const NODE = ["node", "--experimental-websocket", "--disable-warning=ExperimentalWarning"];
export const BUN = [process.execPath];

export async function runModule(
  program: string,
  env: Readonly<Record<string, string>> = {},
  runtime: readonly string[] = BUN,
): Promise<{ code: number; out: string; err: string }> {
  const cache = join(PROJECT, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "parley-test-"));
  try {
    const file = join(folder, "program.mjs");
    writeFileSync(file, program);
    return await run([...runtime, file], { env });
  } finally {
    removeFolder(folder);
  }
}
