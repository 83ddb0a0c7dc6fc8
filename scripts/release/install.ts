/** The script that users download, with the address of this release's repository. */
import { projectFile, type Release } from "./facts.ts";

const NO_ADDRESS = /^repository=""$/m;

export function installScript({ repository }: Pick<Release, "repository">): string {
  const script = projectFile("scripts/release/install.sh");
  if (!NO_ADDRESS.test(script)) throw new Error('scripts/release/install.sh has no line repository=""');
  return script.replace(NO_ADDRESS, `repository="${repository}"`);
}
