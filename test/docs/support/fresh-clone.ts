/** The project as a new user has it: its files, and only the packages that `npm start` installs. */
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { IS_FULL } from "../../support/slack.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { PROJECT } from "./page.ts";

const PARTS = ["bin", "client", "examples", "src", "web", "package.json", "tsconfig.json"];
/** What only a folder has that was worked in. */
const MADE = /\/(node_modules|dist|\.tools|\.build)(\/|$)|examples\/[^/]+\/package-lock\.json$/;

export class FreshClone {
  readonly folder = tempFolder();
  /** For the environment of commands: with `npm`, if it must not download anything here. */
  readonly path: string;

  constructor() {
    for (const part of [...PARTS, "package-lock.json"])
      cpSync(join(PROJECT, part), join(this.folder, part), {
        recursive: true,
        filter: (from) => !MADE.test(from.slice(PROJECT.length)),
      });
    const { packages } = JSON.parse(readFileSync(join(PROJECT, "package-lock.json"), "utf8")) as {
      packages: Record<string, { dev?: boolean; optional?: boolean }>;
    };
    for (const [place, { dev, optional }] of Object.entries(packages))
      if (/^node_modules\/(@[^/]+\/)?[^/]+$/.test(place) && !dev && !optional) this.link(place);
    // Written last: an older one than the lockfile means that packages have to be installed.
    writeFileSync(join(this.folder, "node_modules/.package-lock.json"), "{}");
    this.path = IS_FULL ? (process.env.PATH ?? "") : `${this.quickNpm()}:${process.env.PATH}`;
  }

  remove(): void {
    removeFolder(this.folder);
  }

  private link(place: string): void {
    const link = join(this.folder, place);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(PROJECT, place), link);
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
