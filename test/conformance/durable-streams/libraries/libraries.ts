/** The public libraries, in the versions of the lockfile here: installed once into node_modules/.cache, which no other tool reads. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolder, tempFolder } from "../../../support/temp.ts";

const CACHE = join(import.meta.dir, "../../../../node_modules/.cache");
const FILES = ["package.json", "package-lock.json"];
const PROGRAM = "program.mjs";

export class Libraries {
  private constructor(private readonly folder: string) {}

  static async installed(): Promise<Libraries> {
    const lock = readFileSync(join(import.meta.dir, "package-lock.json"));
    const folder = join(CACHE, `stream-libraries-${Bun.hash(lock).toString(36)}`);
    if (!existsSync(folder)) await install(folder);
    return new Libraries(folder);
  }

  /** A module of one of them. */
  load<T>(name: string): Promise<T> {
    return import(Bun.resolveSync(name, this.folder)) as Promise<T>;
  }

  /** What a user's module exports, where they are installed. `others`: files beside it, by name. */
  run<T>(text: string, others: Readonly<Record<string, string>> = {}): Promise<T> {
    return this.written({ ...others, [PROGRAM]: text }, (path) => import(path) as Promise<T>);
  }

  /** A user's module as a page loads it, with all that it imports. */
  bundled(text: string): Promise<string> {
    return this.written({ [PROGRAM]: text }, async (path) => {
      const { outputs } = await Bun.build({ entrypoints: [path], target: "browser", throw: true });
      return (await outputs[0]?.text()) ?? "";
    });
  }

  private async written<T>(files: Readonly<Record<string, string>>, use: (path: string) => Promise<T>): Promise<T> {
    const folder = tempFolder(this.folder);
    try {
      for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
      return await use(join(folder, PROGRAM));
    } finally {
      removeFolder(folder);
    }
  }
}

/** Another process may do the same at the same time: a rename puts the result into place. */
async function install(folder: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const staging = tempFolder(CACHE);
  for (const name of FILES) copyFileSync(join(import.meta.dir, name), join(staging, name));
  console.log("test: installing the public libraries of Durable Streams (once)");
  const command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  const npm = Bun.spawn(command, { cwd: staging, stdio: ["ignore", "ignore", "pipe"] });
  const [errors, code] = await Promise.all([new Response(npm.stderr).text(), npm.exited]);
  if (code !== 0) throw new Error(`npm ci failed:\n${errors}`);
  try {
    renameSync(staging, folder);
  } catch (error) {
    removeFolder(staging);
    if (!existsSync(folder)) throw error;
  }
}
