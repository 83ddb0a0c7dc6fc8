/** A client, its clock and its service, for one test. */
import { setBlocked } from "../connection/blocked.ts";
import { Parley, type ParleyOptions } from "../parley.ts";
import { FakeClock, settled } from "./clock.ts";
import { FakeService } from "./service.ts";

type Options = Partial<Omit<ParleyOptions, "key" | "token">> & {
  readonly token?: (request: { readonly reason: string }) => Promise<string | null> | string | null;
};

export class Kit {
  readonly clock: FakeClock = new FakeClock().install();
  readonly service: FakeService = new FakeService().install();
  readonly statuses: string[] = [];
  readonly errors: string[] = [];
  private readonly clients: Parley[] = [];

  /** An open client listens to events of the whole process, and would go on in the tests of other files. */
  restore(): void {
    for (const client of this.clients) client.close();
    setBlocked("wss://service/v1", false);
    this.clock.restore();
    this.service.restore();
  }

  client({ token, ...options }: Options = {}): Parley {
    const credential = token ? { token } : { key: "pk" };
    const { WebSocket } = this.service;
    // Connections that tests cut soon would count as blocked.
    const parley = new Parley({ url: "https://service", WebSocket, transport: "websocket", ...credential, ...options });
    parley.on("status", ({ state, error }) => this.statuses.push(error ? `${state} ${error.code}` : state));
    parley.on("error", ({ code }) => this.errors.push(code));
    this.clients.push(parley);
    return parley;
  }

  async connected(options: Options = {}): Promise<Parley> {
    const parley = this.client(options);
    await settled();
    await this.service.socket.welcome();
    return parley;
  }

  /** The connection is lost, and made again. */
  async reconnected(code = 1006, fields: object = { connection: "c2" }): Promise<void> {
    await this.service.socket.end(code);
    await this.comesBack();
    await this.service.socket.welcome(fields);
  }

  /** The network is back. */
  online(): void {
    (globalThis as unknown as EventTarget).dispatchEvent(new Event("online"));
  }

  /** Waits for the next attempt. */
  async comesBack(): Promise<void> {
    const before = this.service.sockets.length;
    for (let waited = 0; this.service.sockets.length === before; waited += 100) {
      if (waited > 60_000) throw new Error("the client does not come back");
      await this.clock.advance(100);
    }
  }
}
