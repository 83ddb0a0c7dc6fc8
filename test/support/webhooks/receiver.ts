/** An endpoint of webhooks on this machine: it records what it gets, and verifies each request with the public library of Standard Webhooks. */
import { Webhook } from "standardwebhooks";

export interface Received {
  readonly path: string;
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly seq: number; readonly app: string };
  readonly headers: Headers;
  readonly atMs: number;
}

export type Behaviour = (got: Received) => Response | Promise<Response>;

export class WebhookReceiver implements Disposable {
  readonly got: Received[] = [];
  /** Why a request was not what it has to be. */
  readonly wrong: string[] = [];
  /** By path; what is not named answers with 204. */
  private readonly behaviours = new Map<string, Behaviour>();
  private readonly secrets = new Map<string, string>();
  private readonly server;

  constructor() {
    this.server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: (request) => this.answer(request),
    });
  }

  [Symbol.dispose](): void {
    void this.server.stop(true);
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.server.port}${path}`;
  }

  /** From now on requests to this path are verified with this secret, and answered so. */
  expect(path: string, secret: string, behaviour: Behaviour = () => new Response(null, { status: 204 })): void {
    this.secrets.set(path, secret);
    this.behaviours.set(path, behaviour);
  }

  of(path: string, type?: string): Received[] {
    return this.got.filter((one) => one.path === path && (type === undefined || one.type === type));
  }

  private async answer(request: Request): Promise<Response> {
    const { pathname: path } = new URL(request.url);
    const body = await request.text();
    const headers = Object.fromEntries(request.headers);
    try {
      new Webhook(this.secrets.get(path) ?? "").verify(body, headers);
    } catch (error) {
      this.wrong.push(`${path}: ${error}`);
    }
    const { type, data } = JSON.parse(body) as Pick<Received, "type" | "data">;
    const id = headers["webhook-id"] ?? "";
    const got: Received = { path, id, type, data, headers: request.headers, atMs: performance.now() };
    this.got.push(got);
    return this.behaviours.get(path)?.(got) ?? new Response(null, { status: 204 });
  }
}
