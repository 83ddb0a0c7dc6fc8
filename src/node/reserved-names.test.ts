import { expect, test } from "bun:test";
import { scratch } from "../../test/support/temp.ts";
import { loadConfig } from "../config/load.ts";
import type { PageServer } from "../http/pages/pages.ts";
import { roomName } from "../rooms/fields.ts";
import { RESERVED_NAMES } from "../rooms/reserved-names.ts";
import { makeLog } from "../telemetry/log.ts";
import { buildNode } from "./build.ts";
import { openEmbedded } from "./parts/stores.ts";

/** Paths such as `/:roomName` are the rooms' own. */
const firstSegment = (path: string): string => path.split("/")[1] ?? "";

test("a room gets no name that is an address of the service", async () => {
  using folder = scratch();
  const loaded = loadConfig(new Map([["data", folder.path]]), {});
  const log = makeLog("silent", "json", "test");
  const { store, history } = await openEmbedded(loaded.config, log);
  const loadPages = async () => ({}) as PageServer;
  const { routes } = await buildNode({ ...loaded, nodeId: "n1", log, store, history, loadPages });
  const paths = [...Object.keys(routes.publicRoutes), ...Object.keys(routes.adminRoutes)];
  const names = paths.map(firstSegment).filter((name) => roomName().safeParse(name).success);
  expect([...new Set(names)].sort()).toEqual([...RESERVED_NAMES].sort());
  await history.close();
  await store.close();
});
