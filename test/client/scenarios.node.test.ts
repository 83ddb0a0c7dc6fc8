/** The scenarios of the conformance suite under Node, before 22 with parley-client/node and `ws`: one process per scenario. */
import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { isInSample } from "../support/sample.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { SAMPLE, SCENARIOS } from "./scenarios/all.ts";
import { Backstage } from "./support/backstage.ts";
import { IS_FULL } from "./support/service.ts";

setDefaultTimeout(90_000);

const PROJECT = join(import.meta.dir, "../..");
/** A client that was not closed keeps the process alive. */
const END_MS = 10_000;

describe("parley-client under Node", () => {
  let backstage: Backstage;
  let folder = "";

  beforeAll(async () => {
    backstage = await Backstage.start();
    // Inside the project, so that Node finds `ws`; inside node_modules, so that no other tool sees it.
    const cache = join(PROJECT, "node_modules/.cache");
    mkdirSync(cache, { recursive: true });
    folder = tempFolder(cache);
    await Bun.build({
      entrypoints: [join(import.meta.dir, "runners/node.ts")],
      outdir: folder,
      naming: "runner.mjs",
      target: "node",
      format: "esm",
      external: ["ws"],
      throw: true,
    });
  });

  afterAll(async () => {
    removeFolder(folder);
    await backstage.stop();
  });

  const played = IS_FULL ? SCENARIOS : SAMPLE.filter((_, at) => isInSample(at + 1, 2));
  for (const [name, transport] of [
    ...played.map(({ name }) => [name, "websocket"] as const),
    ...(IS_FULL ? SCENARIOS : SAMPLE).map(({ name }) => [name, "http"] as const),
  ])
    test(`${name}, over ${transport}`, async () => {
      const node = Bun.which("node");
      if (!node) throw new Error("these tests need Node 20 or later: there is no `node` on the PATH");
      const child = Bun.spawn([node, join(folder, "runner.mjs"), name, JSON.stringify(backstage.facts), transport], {
        cwd: PROJECT,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const timer = setTimeout(() => child.kill("SIGKILL"), 60_000 + END_MS);
      const errors = await new Response(child.stderr).text();
      await child.exited;
      clearTimeout(timer);
      if (child.exitCode !== 0) throw new Error(errors || "something was left open");
    });
});
