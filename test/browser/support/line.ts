/** The network between a page and the service: bytes pass until it is cut. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class Line {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private isCut = false;
  private refusals = 0;
  private onRefusal: () => void = () => undefined;

  private constructor(private target: number) {
    this.server = createServer((near) => {
      if (this.isCut) {
        near.resetAndDestroy();
        this.refusals++;
        this.onRefusal();
        return;
      }
      const far = connect(this.target, "127.0.0.1");
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(from);
        from.on("error", () => undefined);
        from.on("close", () => {
          this.sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
  }

  static async to(target: number): Promise<Line> {
    const line = new Line(target);
    await new Promise<void>((resolve) => line.server.listen(0, "127.0.0.1", resolve));
    return line;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** New connections go to another port. */
  lead(target: number): void {
    this.target = target;
  }

  /** Ends open connections and refuses new ones. */
  cut(): void {
    this.isCut = true;
    this.refusals = 0;
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  /** Resolves when that many connects have failed since the cut. */
  refused(times: number): Promise<void> {
    return new Promise((resolve) => {
      this.onRefusal = () => {
        if (this.refusals >= times) resolve();
      };
      this.onRefusal();
    });
  }

  mend(): void {
    this.isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
