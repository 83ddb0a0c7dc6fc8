/** The licences of everything inside an executable, as `parley licences` prints them. */
import { projectFile, ROOT } from "./facts.ts";
import { output } from "./program.ts";

export const LICENCES = "LICENCES.txt";

export async function licenceFiles(): Promise<Readonly<Record<string, string>>> {
  const all = await output([process.execPath, "--no-env-file", "src/main.ts", "licences"], { cwd: ROOT });
  return { LICENSE: projectFile("LICENSE"), [LICENCES]: all };
}
