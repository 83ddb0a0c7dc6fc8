/**
 * Requests that a client sends on one connection without waiting for the answers. Bun handles all that it has read of a connection in one turn of the
 * event loop, up to 512 KB: thousands of requests, which would hold up everyone else, also if each is refused.
 */
import type { Server } from "bun";

/** Per connection and turn. Browsers and HTTP libraries send one at a time. */
const AT_ONCE_MAX = 16;

export class PipelinedRequests {
  private inTurn = 0;
  /** Bound: connections of which something was read in this turn. */
  private readonly byConnection = new Map<string, number>();

  /** Notes one more. Addresses are looked at only in turns with many requests. */
  areTooMany(request: Request, server: Pick<Server<unknown>, "requestIP">): boolean {
    // No boundary: it only counts from the beginning again.
    if (++this.inTurn === 1) setImmediate(() => this.turnEnded());
    if (this.inTurn <= AT_ONCE_MAX) return false;
    const from = server.requestIP(request);
    // A connection that has ended sends nothing more.
    if (!from) return false;
    const connection = `${from.address} ${from.port}`;
    const count = (this.byConnection.get(connection) ?? 0) + 1;
    this.byConnection.set(connection, count);
    return count > AT_ONCE_MAX;
  }

  private turnEnded(): void {
    this.inTurn = 0;
    this.byConnection.clear();
  }
}
