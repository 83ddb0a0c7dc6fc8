/** What scenarios cannot do themselves, in a browser least of all: mint tokens, kick, restart the service, cut connections. */
import { startOwn } from "../../conformance/sdk/own-service.ts";
import { Service } from "../../conformance/sdk/service.ts";
import type { Json } from "../../support/http.ts";
import { NetworkProxy } from "../../support/network-proxy.ts";
import type { Facts } from "../scenarios/stage.ts";

type Asked = Readonly<Record<string, unknown>>;

export class Backstage {
  private readonly lines: NetworkProxy[] = [];
  private readonly server: ReturnType<typeof Bun.serve>;

  private constructor(
    private readonly service: Service,
    private readonly end: () => Promise<void>,
    /** Files of the page, by path. */
    private readonly files: ReadonlyMap<string, Blob>,
  ) {
    this.server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 120,
      fetch: (request) => this.answer(request),
    });
  }

  static async start(files: ReadonlyMap<string, Blob> = new Map()): Promise<Backstage> {
    const { env, stop } = await startOwn();
    return new Backstage(new Service(env), stop, files);
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  get facts(): Facts {
    const { url, publishableKey } = this.service;
    return { url, publishableKey, backstage: this.url };
  }

  async stop(): Promise<void> {
    await this.server.stop(true);
    await Promise.all(this.lines.map((line) => line.close()));
    await this.end();
  }

  private async answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    const file = this.files.get(path);
    if (file) return new Response(file);
    if (request.method !== "POST") return new Response("", { status: 404 });
    try {
      return Response.json((await this.act(path.slice(1), (await request.json()) as Asked)) ?? {});
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  }

  private async act(what: string, asked: Asked): Promise<object | undefined> {
    const { service } = this;
    switch (what) {
      case "mint":
        return service.mint(asked.claims as Json, (asked.credential as string) ?? service.secretKey);
      case "kick":
        return (await service.kick(String(asked.peerId))).body as object;
      case "restart":
        await service.restart();
        return undefined;
      case "revoke":
        return service.admin.revoke(String(asked.keyId));
      case "app":
        return this.makeApp(asked as Json);
      case "line":
        return this.makeLine();
      case "cut":
        this.lines[Number(asked.id)]?.cut();
        return undefined;
      case "mend":
        this.lines[Number(asked.id)]?.mend();
        return undefined;
      default:
        throw new Error(`${what} is not known`);
    }
  }

  /** An application of its own with these fields. */
  private async makeApp(fields: Json): Promise<object> {
    const { admin } = this.service;
    const app = await admin.createApp();
    await admin.must("PATCH", `/apps/${app._id}`, { channelRules: [], ...fields });
    const { keyId, credential } = await admin.createKey(app._id);
    return { keyId, credential, publishableKey: (await admin.createPublishable(app._id)).keyId };
  }

  private async makeLine(): Promise<object> {
    const line = await NetworkProxy.to(Number(new URL(this.service.url).port));
    return { id: this.lines.push(line) - 1, port: line.port };
  }
}
