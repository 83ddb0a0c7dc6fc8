/** A fresh clone to run examples in. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cloneInto, installInto } from "../../support/clone.ts";
import { IS_FULL } from "../../support/slack.ts";
import { DISK, removeFolder, tempFolder } from "../../support/temp.ts";
import { PROJECT } from "./page.ts";

export class FreshClone {
  readonly folder = tempFolder(DISK);
  /** For the environment of commands: with `npm`, if it must not download anything here. */
  path = process.env.PATH ?? "";

  static async make(): Promise<FreshClone> {
    const clone = new FreshClone();
    await cloneInto(clone.folder);
    await installInto(clone.folder);
    if (!IS_FULL) clone.path = `${clone.quickNpm()}:${clone.path}`;
    return clone;
  }

  remove(): void {
    removeFolder(this.folder);
  }

  /** With --full the real one downloads. Otherwise `npm install` links what the package.json of its folder names, and fails for others. */
  private quickNpm(): string {
    const bin = join(this.folder, "node_modules/.quick-npm");
    mkdirSync(bin);
    writeFileSync(
      join(bin, "npm"),
      `#!/bin/sh
[ "$1" = install ] || exec ${Bun.which("npm")} "$@"
set -e
for name in $(node -p 'Object.keys(JSON.parse(fs.readFileSync("package.json")).dependencies).join("\\n")'); do
  [ -d "${PROJECT}/node_modules/$name" ]
  mkdir -p "$(dirname "node_modules/$name")"
  ln -s "${PROJECT}/node_modules/$name" "node_modules/$name"
done
`,
    );
    chmodSync(join(bin, "npm"), 0o755);
    return bin;
  }
}
