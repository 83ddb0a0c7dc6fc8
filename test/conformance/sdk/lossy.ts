/** A socket that loses its network: the client sees it as closed, while the service has not noticed yet. */
import type { OpenSocket, Socket } from "./wire.ts";

type Listen = Socket["addEventListener"];

export class Lossy implements Socket {
  private readonly closeListeners = new Set<Parameters<Listen>[1]>();

  constructor(readonly real: Socket) {}

  /** A WebSocket constructor for the client, and the sockets it has created. */
  static opener(open: OpenSocket): { open: OpenSocket; sockets: Lossy[] } {
    const sockets: Lossy[] = [];
    return {
      sockets,
      open: (url) => {
        const socket = new Lossy(open(url));
        sockets.push(socket);
        return socket;
      },
    };
  }

  get readyState(): number {
    return this.real.readyState;
  }

  readonly send: Socket["send"] = (data) => this.real.send(data);
  readonly close: Socket["close"] = (code, reason) => this.real.close(code, reason);
  readonly terminate = (): void => this.real.terminate();

  readonly addEventListener: Listen = (type, listener) => {
    if (type === "close") this.closeListeners.add(listener);
    this.real.addEventListener(type, listener);
  };

  readonly removeEventListener: Listen = (type, listener) => {
    if (type === "close") this.closeListeners.delete(listener);
    this.real.removeEventListener(type, listener);
  };

  lose(): void {
    for (const closed of [...this.closeListeners]) closed({ code: 1006, reason: "" });
  }
}
