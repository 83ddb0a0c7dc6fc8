/** The way from the two networks to a service outside of them. It carries HTTP and WebSockets only: calls find no way through it. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { Running } from "../../deploy/support/program.ts";
import { until } from "../../support/wait.ts";
import { inPlace, type Place } from "./network.ts";

/** Runs in a network: on its loopback it has the port that the service has outside. Unix sockets are not part of networks. */
const SCRIPT = `
  const { connect, createServer } = require("node:net");
  const [port, path] = process.argv.slice(-2);
  createServer((near) => {
    const far = connect(path);
    for (const [from, to] of [[near, far], [far, near]]) {
      from.on("error", () => undefined).on("close", () => to.destroy());
      from.pipe(to);
    }
  }).listen(Number(port), "127.0.0.1", () => console.log("listening"));`;

export class Way {
  private readonly sockets = new Set<Socket>();
  private readonly ends: Running[] = [];

  private constructor(private readonly server: Server) {}

  /** To the service on that port, from each of these places. */
  static async open(port: number, folder: string, places: readonly Place[]): Promise<Way> {
    const path = join(folder, "way.sock");
    const server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        way.sockets.add(from);
        from.on("error", () => undefined);
        from.on("close", () => {
          way.sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    const way = new Way(server);
    await new Promise<void>((resolve) => server.listen(path, resolve));
    for (const place of places) {
      const end = new Running(inPlace(place, process.execPath, "-e", SCRIPT, String(port), path));
      way.ends.push(end);
      await until(`${place} has a way to the service`, () => {
        if (end.hasEnded) throw new Error(end.output);
        return end.output.includes("listening");
      });
    }
    return way;
  }

  async stop(): Promise<void> {
    await Promise.all(this.ends.map((end) => end.stop()));
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
