/** One keep-alive connection of a page: requests one after the other, each answered with a 200 and JSON. */
import type { Socket } from "bun";
import { wholeBody } from "../lib/load.ts";
import type { Address } from "../lib/websocket.ts";

export class HttpLine {
  private socket: Socket<undefined> | undefined;
  private pending = "";
  private answer = Promise.withResolvers<string>();

  static async open({ host, port, source }: Address): Promise<HttpLine> {
    const line = new HttpLine();
    const options = {
      hostname: host,
      port,
      // Bun has this option, its types do not yet.
      localAddress: source,
      data: undefined,
      socket: {
        data: (_socket: Socket<undefined>, chunk: Buffer) => line.receive(chunk),
        close: () => line.answer.reject(new Error("the server closed a connection of a page")),
        error: (_socket: Socket<undefined>, error: Error) => line.answer.reject(error),
      },
    };
    line.socket = await Bun.connect<undefined>(options);
    return line;
  }

  /** `request` is a whole request, head and body. */
  async send(request: Uint8Array): Promise<unknown> {
    this.answer = Promise.withResolvers<string>();
    if (this.socket?.write(request) !== request.length) throw new Error("a request was not written completely");
    return JSON.parse(await this.answer.promise);
  }

  close(): void {
    // What comes after the last answer is not waited for.
    this.answer.promise.catch(() => undefined);
    this.socket?.end();
  }

  private receive(chunk: Buffer): void {
    this.pending += chunk.toString("latin1");
    try {
      const body = wholeBody(this.pending);
      if (body === undefined) return;
      this.pending = "";
      this.answer.resolve(body);
    } catch (error) {
      this.answer.reject(error);
    }
  }
}
