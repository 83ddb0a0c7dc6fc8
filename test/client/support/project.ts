/** An empty project into which the package was installed from the file that `npm pack` makes, as a user would do it. */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildPackage } from "../../../client/build.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";

export const PROJECT = join(import.meta.dir, "../../..");
const CLIENT = join(PROJECT, "client");

const folders: string[] = [];
process.on("exit", () => {
  for (const folder of folders) removeFolder(folder);
});

const freshFolder = (): string => {
  const folder = tempFolder();
  folders.push(folder);
  return folder;
};

let packing: Promise<string> | undefined;

/** The path of the package file; it is made once for all tests of a run. */
export function packedClient(): Promise<string> {
  packing ??= pack();
  return packing;
}

/** From a copy, so that two runs at once do not build into the same folder. */
async function pack(): Promise<string> {
  const copy = freshFolder();
  for (const file of ["package.json", "README.md", "LICENSE"]) cpSync(join(CLIENT, file), join(copy, file));
  await buildPackage(join(copy, "dist"));
  await run(copy, ["npm", "pack", "--ignore-scripts", "--offline"]);
  const [name] = readdirSync(copy).filter((file) => file.endsWith(".tgz"));
  if (!name) throw new Error("npm pack has made no file");
  return join(copy, name);
}

/** A project with the package and, from our own folder, with the packages named `also`. */
export async function emptyProject(also: readonly string[] = []): Promise<EmptyProject> {
  const project = new EmptyProject(freshFolder());
  project.write("package.json", JSON.stringify({ name: "app", private: true, type: "module" }));
  const file = await packedClient();
  // The package has no dependencies, so nothing has to be downloaded. Optional peers are left out, as npm does.
  await project.run(["npm", "install", "--offline", "--no-audit", "--no-fund", file]);
  for (const name of also) {
    const link = join(project.folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(PROJECT, "node_modules", name), link);
  }
  return project;
}

export class EmptyProject {
  constructor(readonly folder: string) {}

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** The output of a command that must succeed. */
  run(command: readonly string[]): Promise<string> {
    return run(this.folder, command);
  }
}

async function run(cwd: string, command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} has failed:\n${output}${errors}`);
  return output;
}
