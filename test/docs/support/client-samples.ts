/** Samples of pages that use parley-client, compiled and run in a project where the package is installed. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { EmptyProject } from "../../client/support/project.ts";
import { Child, run } from "./child.ts";
import { BUN } from "./module.ts";
import { PROJECT } from "./page.ts";

/** Names that samples share with the first program of docs/client.md. */
const SHARED = `
import type { Channel, Parley } from "parley-client";
declare global {
  const parley: Parley;
  const chat: Channel<{ text: string }>;
}
`;

const COMPILER_OPTIONS = {
  target: "ES2022",
  module: "Preserve",
  moduleResolution: "bundler",
  lib: ["ES2022", "DOM"],
  types: [],
  strict: true,
  noEmit: true,
};

export class Samples {
  private count = 0;

  private constructor(private readonly project: EmptyProject) {}

  static async make(): Promise<Samples> {
    const project = await EmptyProject.withBuild();
    project.link("ws", "@metered-ca/realtime");
    return new Samples(project);
  }

  /** What the compiler says about them: nothing, if all is well. */
  async compile(texts: readonly string[]): Promise<string> {
    const folder = `compiled-${++this.count}`;
    mkdirSync(join(this.project.folder, folder));
    this.project.write(`${folder}/shared.d.ts`, SHARED);
    for (const [at, text] of texts.entries()) this.project.write(`${folder}/${at}.ts`, `${text}\nexport {};\n`);
    this.project.write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
    const { out } = await run([join(PROJECT, "node_modules/.bin/tsc"), "-p", join(this.project.folder, folder)]);
    return out;
  }

  /** The path of a file with this text. */
  file(text: string, name = `${++this.count}.ts`): string {
    this.project.write(name, text);
    return join(this.project.folder, name);
  }

  run(text: string, env: Readonly<Record<string, string>> = {}): ReturnType<typeof run> {
    return run([...BUN, this.file(text)], { cwd: this.project.folder, env });
  }

  start(text: string, runtime: readonly string[] = BUN): Child {
    return new Child([...runtime, this.file(text, `${++this.count}.mjs`)], { cwd: this.project.folder });
  }

  remove(): void {
    this.project.remove();
  }
}
