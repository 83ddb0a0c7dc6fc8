/** What all parts of a release have in common. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { output } from "./program.ts";

export const ROOT = join(import.meta.dir, "../..");

export const projectFile = (path: string): string => readFileSync(join(ROOT, path), "utf8");

export interface Release {
  readonly version: string;
  readonly commit: string;
  /** The time of the commit: every date in the files of a release is this one, so that two runs make the same bytes. */
  readonly epochSeconds: number;
  /** Where the sources are, such as https://github.com/owner/name. Empty if this clone has no origin on a code host. */
  readonly repository: string;
}

export async function factsOf(version: string): Promise<Release> {
  const git = async (...args: string[]): Promise<string> => (await output(["git", ...args], { cwd: ROOT })).trim();
  const [commit = "", seconds = ""] = (await git("log", "-1", "--format=%H %ct")).split(" ");
  const origin = await git("remote", "get-url", "origin").catch(() => "");
  return { version, commit, epochSeconds: Number(seconds), repository: repositoryOf(process.env, origin) };
}

/** Files that git would not give to anyone else: a release of them could not be made again from its commit. */
export async function uncommitted(): Promise<string[]> {
  const status = await output(["git", "status", "--porcelain"], { cwd: ROOT });
  return status.split("\n").filter((line) => line !== "");
}

/**
 * The repository is not named in the sources, so that a fork's release names the fork: npm accepts a package's provenance only
 * if the package names the repository whose workflow has built it.
 */
export function repositoryOf(env: Readonly<Record<string, string | undefined>>, origin: string): string {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = env;
  if (server && name) return `${server}/${name}`;
  const [, host = "", path = ""] =
    /^(?:https:\/\/|ssh:\/\/)?(?:[^@/]*@)?([\w.-]+\.[a-z]+)[:/](.+?)(?:\.git)?\/?$/.exec(origin) ?? [];
  return host === "" ? "" : `https://${host}/${path}`;
}
