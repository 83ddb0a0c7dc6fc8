/** A fresh application, and webhooks of it. */
import { Application } from "../application.ts";
import type { Json } from "../http.ts";
import type { Server } from "../parley.ts";

export interface Webhook {
  readonly _id: string;
  readonly url: string;
  readonly events: string[];
  readonly channelPatterns: string[] | null;
  readonly headers: Record<string, string>;
  readonly disabled: boolean;
  readonly disabledReason: string | null;
  readonly previousSecrets: { endsAt: number }[];
  readonly secret: string;
}

export const URL_OF_TESTS = "https://hooks.example.com/parley?key=only-for-its-owner";
export const WANTED = { url: URL_OF_TESTS, events: ["recording.ready", "meeting.*"] };
export const WHSEC = /^whsec_[A-Za-z0-9+/]{32}$/;

export interface FreshHooks {
  readonly root: string;
  readonly app: { _id: string; name: string; secretKey: string };
  readonly backend: Application;
  readonly create: (body?: Json) => Promise<Webhook>;
}

export async function freshHooks(server: Server): Promise<FreshHooks> {
  const { admin } = server;
  const name = `hooks-${crypto.randomUUID().slice(0, 8)}`;
  const app = await admin.must<FreshHooks["app"]>("POST", "/apps", { name });
  const root = `/apps/${name}/webhooks`;
  return {
    root,
    app,
    backend: new Application(server.url, name, app.secretKey, app._id),
    create: (body = {}) => admin.must<Webhook>("POST", root, { ...WANTED, ...body }),
  };
}
