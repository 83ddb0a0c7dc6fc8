/** Which reads of operators have a rate together. */
import { afterAll, beforeAll, expect, mock, spyOn, test } from "bun:test";
import { scratch } from "../../../test/support/temp.ts";
import { systemClock } from "../../base/clock.ts";
import { loadConfig } from "../../config/load.ts";
import { STORED_READS_BURST } from "../../http/limits.ts";
import type { PageServer } from "../../http/pages/pages.ts";
import { Call } from "../../http/request/call.ts";
import type { Endpoint } from "../../http/server/endpoint.ts";
import { Problem } from "../../protocol/codes.ts";
import { makeLog } from "../../telemetry/log.ts";
import { buildNode } from "../build.ts";
import { openEmbedded } from "../parts/stores.ts";

const TOKEN = "an-admin-token-for-this-test-only-0123456789";
const ROOT = "/api/internal/v1";

let control: readonly Endpoint[];
let close: () => Promise<void>;

beforeAll(async () => {
  // The rates of the node never refill.
  const now = systemClock.monotonicMs();
  spyOn(systemClock, "monotonicMs").mockReturnValue(now);
  const folder = scratch();
  const loaded = loadConfig(new Map([["data", folder.path]]), { PARLEY_ADMIN_TOKEN: TOKEN });
  const log = makeLog("silent", "json", "test");
  const { store, history } = await openEmbedded(loaded.config, log);
  const loadPages = async () => ({}) as PageServer;
  const { routes } = await buildNode({ ...loaded, nodeId: "n1", log, store, history, loadPages });
  control = routes.control;
  close = async () => {
    mock.restore();
    await history.close();
    await store.close();
    folder[Symbol.dispose]();
  };
});

afterAll(() => close());

async function codeOf({ run, method }: Endpoint): Promise<string> {
  const headers = { Host: "localhost", Authorization: `Bearer ${TOKEN}` };
  const request = new Request("http://localhost/", { method, headers });
  const connection = { address: () => "192.0.2.1", setIdleSeconds: () => undefined };
  const settings = { trustedProxies: [], domain: "localhost" };
  // No application has this name, so that calls about one end after the guard.
  const call = new Call(request, connection, settings, { app: "none", keyId: "none", id: "none", roomName: "none" });
  return run(call).then(
    () => "done",
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );
}

test("an operator reads lists and what they hold at one rate, and everything else without it", async () => {
  const gets = control.filter(({ method, path }) => method === "GET" && !path.endsWith("/tail"));
  const audit = gets.find(({ path }) => path === `${ROOT}/audit`);
  if (!audit) throw new Error("there is no list of the audit");
  for (let i = 0; i < STORED_READS_BURST; i++) expect(await codeOf(audit)).toBe("done");
  const refused: string[] = [];
  for (const one of gets) if ((await codeOf(one)) === "rate_limited") refused.push(one.path.replace(ROOT, ""));
  expect(refused.sort()).toEqual([
    "/apps",
    "/apps/:app/data",
    "/apps/:app/meetings",
    "/apps/:app/meetings/:id",
    "/apps/:app/recordings",
    "/apps/:app/recordings/:id",
    "/apps/:app/rooms",
    "/apps/:app/rooms/:roomName",
    "/apps/:app/speech",
    "/apps/:app/streams",
    "/apps/:app/usage",
    "/apps/:app/webhooks",
    "/apps/:app/webhooks/:id",
    "/apps/:app/webhooks/:id/deliveries",
    "/audit",
    "/backups",
    "/data",
    "/operators",
    "/signalling/keys",
    "/signalling/keys/:keyId",
  ]);
});
