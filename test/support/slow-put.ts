/** A PUT whose body is sent piece by piece: the head at once, the rest when the test says so. */
import { connect, type Socket } from "node:net";

export class SlowPut {
  private text = "";
  private readonly ended: Promise<void>;

  private constructor(private readonly socket: Socket) {
    socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
    });
    socket.on("error", () => undefined);
    this.ended = new Promise((resolve) => socket.on("close", () => resolve()));
  }

  /** `url` is the server's address, `uploadUrl` that of the upload. */
  static begin(url: string, uploadUrl: string, headers: Readonly<Record<string, string | number>>): Promise<SlowPut> {
    const { hostname, port } = new URL(url);
    const { host, pathname, search } = new URL(uploadUrl);
    const lines = Object.entries({ Host: host, Connection: "close", ...headers });
    const head = `PUT ${pathname}${search} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.off("error", reject);
        socket.write(head);
        resolve(new SlowPut(socket));
      });
      socket.on("error", reject);
    });
  }

  send(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** The response's status once the connection has ended; 0: there was none. */
  async status(): Promise<number> {
    await this.ended;
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(this.text)?.[1] ?? 0);
  }

  drop(): void {
    this.socket.destroy();
  }
}
