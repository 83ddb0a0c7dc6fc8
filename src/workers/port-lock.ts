/**
 * Makes sure that no other program listens on an address, before workers share it.
 *
 * Workers listen with SO_REUSEPORT. A second service started by mistake would then listen beside them without an error, and take half of
 * the connections. An address that is opened without that option is refused if anyone listens on it; the lock covers the moment between
 * that check and the first worker. Services of other users need no lock: the system shares an address only between sockets of one user.
 */
import { listenError } from "../http/server/listener.ts";
import { takeLock } from "./file-lock.ts";

export interface Address {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The flags that set host and port, for the error. */
  readonly settings: { readonly host: string; readonly port: string };
}

export interface PortLock {
  /** The port that the system has chosen, if any free one was asked for. */
  readonly port: number;
  release(): void;
}

/** `places`: folders for the lock, the best first (file-lock.ts). */
export function lockPort({ host, port, settings }: Address, places: readonly string[]): PortLock {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data: () => undefined } });
    try {
      const lock = takeLock(`${host} ${probe.port}`, places);
      if (!lock) throw Object.assign(new Error("locked by another service"), { code: "EADDRINUSE" });
      return { port: probe.port, release: () => lock.release() };
    } finally {
      probe.stop(true);
    }
  } catch (error) {
    throw listenError(error, { host, port, settings });
  }
}
