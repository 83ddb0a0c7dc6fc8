/** The first command of README.md in a clone in which nothing is installed. Only in full runs: it downloads packages, and needs the default port. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { IS_FULL } from "../support/slack.ts";
import { Newcomer } from "./support/newcomer.ts";

setDefaultTimeout(300_000);

test.skipIf(!IS_FULL)("npm start installs what is missing, also where npm runs no install scripts", async () => {
  const user = await Newcomer.arrive({ installs: true });
  try {
    expect(user.has("node_modules")).toBe(false);
    const started = await user.start();
    expect(started).toContain("parley: installing dependencies (once)");
    expect(started).toContain(`${user.folder}/data/first-run.txt`);
    expect(user.has("node_modules/zod")).toBe(true);
    // What only the project's own tests need is not installed.
    expect(user.has("node_modules/typescript")).toBe(false);
    expect(await user.runs("curl -s localhost:8080/healthz")).toContain("ok");
    expect(await user.runs("bin/parley publish chat/1 hello")).toContain("published");
    expect(await user.stop()).toBe(0);
    expect(await user.start()).not.toContain("installing");
  } finally {
    await user.leave();
  }
});
