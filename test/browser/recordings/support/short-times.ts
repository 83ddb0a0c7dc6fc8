/**
 * Loaded into a node before its own code (`bun --preload`): what came of a stay is finished seconds after its end, and not half an hour. The
 * product itself has no such setting.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { plugin } from "bun";

/** Environment variables that load this file into a node. */
export const SHORT_TIMES = { BUN_OPTIONS: `--preload ${import.meta.path}` };

/** How long after the end of a stay its page may still send, in such a node. */
export const KEPT_MS = 15_000;
const SWEEP_EVERY_MS = 1000;

const LIMITS = join(import.meta.dir, "../../../../src/recordings/budgets/limits.ts");
if (!existsSync(LIMITS)) throw new Error(`there is no ${LIMITS}`);

function withValue(text: string, name: string, value: number): string {
  const line = new RegExp(`(export const ${name} = )[^;]+;`);
  if (!line.test(text)) throw new Error(`there is no ${name} to shorten`);
  return text.replace(line, `$1${value};`);
}

plugin({
  name: "short times",
  setup(build) {
    build.onLoad({ filter: /\/src\/recordings\/budgets\/limits\.ts$/ }, async () => {
      const text = await Bun.file(LIMITS).text();
      const kept = withValue(text, "STAY_UPLOADS_KEPT_MS", KEPT_MS);
      return { contents: withValue(kept, "STAY_UPLOADS_SWEEP_EVERY_MS", SWEEP_EVERY_MS), loader: "ts" };
    });
  },
});
