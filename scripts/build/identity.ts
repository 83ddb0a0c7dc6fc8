/** What an executable says about itself. Nothing of it depends on when and where it is built, so that two builds give the same bytes. */
import type { Build } from "../../src/version.ts";
import { ROOT } from "../import-graph.ts";

/** `SOURCE_DATE_EPOCH` in seconds, as reproducible builds set it; otherwise the date of the commit. */
export function identity(env: NodeJS.ProcessEnv = process.env): Build {
  const commit = git("rev-parse", "HEAD");
  const isChanged = commit !== "" && git("status", "--porcelain", "--untracked-files=no") !== "";
  const seconds = Number(env.SOURCE_DATE_EPOCH || git("log", "-1", "--format=%ct"));
  if (!Number.isSafeInteger(seconds) || seconds < 0)
    throw new Error(`SOURCE_DATE_EPOCH must be a number of seconds, not ${JSON.stringify(env.SOURCE_DATE_EPOCH)}`);
  return {
    commit: commit === "" ? "unknown" : `${commit}${isChanged ? "+changes" : ""}`,
    date: new Date(seconds * 1000).toISOString(),
  };
}

/** "" where this is no clone, or where git is missing, as in the first stage of deploy/Dockerfile. */
function git(...args: readonly string[]): string {
  if (!Bun.which("git")) return "";
  const { success, stdout } = Bun.spawnSync(["git", ...args], { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  return success ? stdout.toString().trim() : "";
}
