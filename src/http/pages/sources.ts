/** The files that the pages are built from, and whether they have changed since. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const SOURCE = /\.(html|css|tsx?)$/;
const TEST = /\.test\.tsx?$/;

interface Source {
  /** In its folder. */
  readonly name: string;
  readonly path: string;
}

export class Sources {
  private readonly files: readonly Source[];

  /** The sources in these folders, and further files in them. */
  constructor(folders: readonly string[], further: readonly string[] = []) {
    this.files = [...folders.flatMap(sourcesIn), ...further.map((path) => ({ name: "", path }))];
  }

  /**
   * Their sizes and dates. While these are as they were, the files need not be read, which would be a tenth of a start's work. One of
   * the dates is that of the last change to the file's inode: programs that copy or unpack files keep the other one.
   */
  stamp(): string {
    const dates = this.files.map(({ path }) => {
      const { size, mtimeMs, ctimeMs } = statSync(path);
      return `${path} ${size} ${mtimeMs} ${ctimeMs}\n`;
    });
    return digestOf(dates);
  }

  /** Their contents, which are the same in another copy of the files. */
  hash(): string {
    return digestOf(this.files.flatMap(({ name, path }) => [name, readFileSync(path)]));
  }
}

const sourcesIn = (folder: string): Source[] =>
  (readdirSync(folder, { recursive: true }) as string[])
    .filter((name) => SOURCE.test(name) && !TEST.test(name) && !name.startsWith(".build"))
    .sort()
    .map((name) => ({ name, path: join(folder, name) }));

/** Another bundler makes other files of the same sources. */
function digestOf(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256").update(Bun.version);
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}
