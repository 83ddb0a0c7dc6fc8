/** Empty projects of applications that use the package. */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildPackage } from "../../../client/build.mjs";
import { closeAtEndOfRun, IS_SHARING } from "../../support/run.ts";
import { removeFolder, scratch, tempFolder } from "../../support/temp.ts";

export const PROJECT = join(import.meta.dir, "../../..");
const CLIENT = join(PROJECT, "client");

/** Remove it at the end of the tests. */
export class EmptyProject {
  readonly folder = tempFolder();

  private constructor() {
    this.write("package.json", JSON.stringify({ name: "app", private: true, type: "module" }));
  }

  static empty(): EmptyProject {
    return new EmptyProject();
  }

  /** With the package as it is built, without npm. */
  static async withBuild(): Promise<EmptyProject> {
    const project = new EmptyProject();
    await buildInto(join(project.folder, "node_modules/parley-client"));
    return project;
  }

  /** With the package as a user installs it, from the file that `npm pack` makes. */
  static async withPackage(): Promise<EmptyProject> {
    using copy = scratch();
    await buildInto(copy.path);
    await run(copy.path, ["npm", "pack", "--ignore-scripts", "--offline"]);
    const [file = ""] = readdirSync(copy.path).filter((name) => name.endsWith(".tgz"));
    const project = new EmptyProject();
    // It has no dependencies, so nothing has to be downloaded. Optional peers are left out, as npm does.
    await project.run(["npm", "install", "--offline", "--no-audit", "--no-fund", join(copy.path, file)]);
    return project;
  }

  /** Packages of our own folder, for peers of the package and types. */
  link(...names: readonly string[]): void {
    for (const name of names) {
      const link = join(this.folder, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(PROJECT, "node_modules", name), link);
    }
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** The output of a command that must succeed. */
  run(command: readonly string[]): Promise<string> {
    return run(this.folder, command);
  }

  remove(): void {
    removeFolder(this.folder);
  }
}

/** Not in client/ itself, where another run may build at the same time. */
async function buildInto(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const file of ["package.json", "README.md", "LICENSE"]) cpSync(join(CLIENT, file), join(folder, file));
  if (!IS_SHARING) return buildPackage(join(folder, "dist"));
  built ??= buildShared();
  cpSync(await built, join(folder, "dist"), { recursive: true });
}

/** Where it is built once for all test files of the process. */
let built: Promise<string> | undefined;

async function buildShared(): Promise<string> {
  const folder = tempFolder();
  closeAtEndOfRun(async () => removeFolder(folder));
  await buildPackage(join(folder, "dist"));
  return join(folder, "dist");
}

async function run(cwd: string, command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} has failed:\n${output}${errors}`);
  return output;
}
