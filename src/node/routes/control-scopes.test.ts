/** Which calls of the control plane are about one application: what an operator who is limited to applications may be given. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { z } from "zod";
import { scratch } from "../../../test/support/temp.ts";
import { loadConfig } from "../../config/load.ts";
import type { PageServer } from "../../http/pages/pages.ts";
import { type Endpoint, endpoint, open } from "../../http/server/endpoint.ts";
import { makeLog } from "../../telemetry/log.ts";
import { buildNode } from "../build.ts";
import { openEmbedded } from "../parts/stores.ts";

/**
 * Paths are below /api/internal/v1. Sessions of the dashboard are not in it: they are of an operator, who signs in whatever the limits are.
 */
const SCOPES = `
GET    /apps                                                              service
POST   /apps                                                              service
DELETE /apps/:app                                                         app
GET    /apps/:app                                                         app
PATCH  /apps/:app                                                         app
GET    /apps/:app/blocks                                                  app
DELETE /apps/:app/blocks/:peerId                                          app
GET    /apps/:app/channel-rules/match                                     app
GET    /apps/:app/channels                                                app
GET    /apps/:app/channels/:channel                                       app
DELETE /apps/:app/channels/:channel/history                               app
GET    /apps/:app/channels/:channel/history                               app
POST   /apps/:app/channels/:channel/publish                               app
GET    /apps/:app/data                                                    app
GET    /apps/:app/key-traffic                                             app
GET    /apps/:app/meetings                                                app
GET    /apps/:app/meetings/:id                                            app
GET    /apps/:app/peers                                                   app
DELETE /apps/:app/peers/:peerId                                           app
GET    /apps/:app/peers/:peerId                                           app
POST   /apps/:app/peers/:peerId/send                                      app
DELETE /apps/:app/recordings                                              app
GET    /apps/:app/recordings                                              app
DELETE /apps/:app/recordings/:id                                          app
GET    /apps/:app/recordings/:id                                          app
GET    /apps/:app/recordings/:id/file                                     app
GET    /apps/:app/recordings/:id/thumbnail                                app
GET    /apps/:app/rooms                                                   app
POST   /apps/:app/rooms                                                   app
DELETE /apps/:app/rooms/:roomName                                         app
GET    /apps/:app/rooms/:roomName                                         app
PUT    /apps/:app/rooms/:roomName                                         app
POST   /apps/:app/rooms/:roomName/end                                     app
POST   /apps/:app/rooms/:roomName/host-link                               app
DELETE /apps/:app/rooms/:roomName/participants/:participantSession        app
POST   /apps/:app/rooms/:roomName/recording/start                         app
POST   /apps/:app/rooms/:roomName/recording/stop                          app
GET    /apps/:app/rooms/:roomName/webhook-secrets                         app
GET    /apps/:app/secret-key                                              app
POST   /apps/:app/secret-key/rotate                                       app
GET    /apps/:app/speech                                                  app
GET    /apps/:app/streams                                                 app
DELETE /apps/:app/streams/:channel                                        app
GET    /apps/:app/streams/:channel                                        app
GET    /apps/:app/usage                                                   app
GET    /apps/:app/webhooks                                                app
POST   /apps/:app/webhooks                                                app
DELETE /apps/:app/webhooks/:id                                            app
GET    /apps/:app/webhooks/:id                                            app
PATCH  /apps/:app/webhooks/:id                                            app
GET    /apps/:app/webhooks/:id/deliveries                                 app
POST   /apps/:app/webhooks/:id/deliveries/:delivery/resend                app
POST   /apps/:app/webhooks/:id/replay                                     app
POST   /apps/:app/webhooks/:id/rotate                                     app
POST   /apps/:app/webhooks/:id/test                                       app
GET    /audit                                                             app
GET    /backups                                                           service
POST   /backups                                                           service
DELETE /backups/:name                                                     service
GET    /backups/:name                                                     service
POST   /backups/stream                                                    service
GET    /data                                                              service
POST   /explain                                                           app
GET    /node                                                              service
GET    /nodes                                                             service
GET    /operators                                                         service
POST   /operators                                                         service
DELETE /operators/:id                                                     service
GET    /refusals                                                          app
GET    /series                                                            app
GET    /settings                                                          service
GET    /signalling/keys                                                   app
POST   /signalling/keys                                                   app
DELETE /signalling/keys/:keyId                                            app
GET    /signalling/keys/:keyId                                            app
PATCH  /signalling/keys/:keyId                                            app
POST   /signalling/keys/:keyId/rotate                                     app
POST   /signalling/tokens/check                                           app
GET    /tail                                                              app
`;

let control: readonly Endpoint[];
let close: () => Promise<void>;

beforeAll(async () => {
  const folder = scratch();
  const loaded = loadConfig(new Map([["data", folder.path]]), {});
  const log = makeLog("silent", "json", "test");
  const { store, history } = await openEmbedded(loaded.config, log);
  const loadPages = async () => ({}) as PageServer;
  const { routes } = await buildNode({ ...loaded, nodeId: "n1", log, store, history, loadPages });
  control = routes.control;
  close = async () => {
    await history.close();
    await store.close();
    folder[Symbol.dispose]();
  };
});

afterAll(() => close());

const ROOT = "/api/internal/v1";
const nameOf = ({ method, path }: Endpoint): string => `${path.replace(ROOT, "")} ${method}`;

const lineOf = ({ method, path, scope }: Endpoint): string =>
  `${method.padEnd(6)} ${path.replace(ROOT, "").padEnd(66)} ${scope}`;

const hasField = (schema: z.ZodType | undefined, name: string): boolean =>
  schema instanceof z.ZodObject && name in schema.shape;

/** The call says itself which application it is about. */
const namesApp = ({ path, query, body }: Endpoint): boolean =>
  path.split("/").includes(":app") || hasField(query?.(), "app") || hasField(body?.(), "app");

test("every call of the control plane declares its scope", () => {
  expect(control.filter(({ scope }) => scope === undefined).map(nameOf)).toEqual([]);
});

test("a call that names an application is not of the service", () => {
  expect(control.filter((one) => namesApp(one) && one.scope === "service").map(nameOf)).toEqual([]);
});

test("the scopes are those that were decided", () => {
  const lines = control.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)).map(lineOf);
  expect(lines).toEqual(SCOPES.trim().split("\n"));
});

test("only calls by operators have a scope", () => {
  const health = {
    method: "GET",
    path: "/",
    tag: "",
    summary: "",
    response: () => z.object({}),
    handle: () => ({}),
  } as const;
  // @ts-expect-error: anyone may call it
  expect(endpoint({ ...health, guard: open, scope: "app" }).scope).toBe("app");
});
