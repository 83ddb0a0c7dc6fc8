/** When the schemas of endpoints are made, and that all of them can be. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { scratch } from "../../../test/support/temp.ts";
import { loadConfig } from "../../config/load.ts";
import type { PageServer } from "../../http/pages/pages.ts";
import { makeLog } from "../../telemetry/log.ts";
import { buildNode } from "../build.ts";
import { openEmbedded } from "../parts/stores.ts";

/**
 * zod calls this hook with each schema that is made. In a process of its own, because this one may have loaded the modules already.
 * One schema is made here, which shows that the hook is called.
 */
const SCRIPT = `
  const places = new Set();
  const postProcessor = () => {
    const line = new Error().stack.split("\\n").find((one) => !one.includes("/node_modules/") && /\\.ts:/.test(one));
    places.add(line?.replace(/.*\\/src\\//, "src/") ?? "here");
  };
  globalThis.__zod_globalConfig = { postProcessor };
  const { z } = await import("zod");
  z.string();
  await import(${JSON.stringify(join(import.meta.dir, "../build.ts"))});
  console.log(JSON.stringify([...places]));
`;

test("no schema is made when the service is loaded", () => {
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "--no-env-file", "-e", SCRIPT], {
    cwd: join(import.meta.dir, "../../.."),
  });
  expect(stderr.toString()).toBe("");
  expect(JSON.parse(stdout.toString())).toEqual(["here"]);
});

test("the schemas of all endpoints can be made", async () => {
  using folder = scratch();
  const loaded = loadConfig(new Map([["data", folder.path]]), {});
  const log = makeLog("silent", "json", "test");
  const { store, history } = await openEmbedded(loaded.config, log);
  const loadPages = async () => ({}) as PageServer;
  const { routes } = await buildNode({ ...loaded, nodeId: "n1", log, store, history, loadPages });
  for (const { method, path, body, query, response } of routes.endpoints)
    for (const schema of [body, query, response])
      expect(() => schema?.().safeParse({}), `${method} ${path}`).not.toThrow();
  await history.close();
  await store.close();
});
