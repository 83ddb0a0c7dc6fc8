/**
 * Makes sure that no other program listens on an address, before workers share it.
 *
 * Workers listen with SO_REUSEPORT. A second service started by mistake would then listen beside them without an error, and take half of
 * the connections. An address that is opened without that option is refused if anyone listens on it; the lock covers the moment between
 * that check and the first worker. It is a socket in the abstract namespace, which the kernel removes with the process, however it ends.
 */
import { listenError } from "../http/listener.ts";

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

export function lockPort({ host, port, settings }: Address): PortLock {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data: () => undefined } });
    try {
      const lock = Bun.listen({ unix: `\0parley ${host} ${probe.port}`, socket: { data: () => undefined } });
      return { port: probe.port, release: () => lock.stop(true) };
    } finally {
      probe.stop(true);
    }
  } catch (error) {
    throw listenError(error, { host, port, settings });
  }
}
