/**
 * For tests: workers in one process that are joined by Unix sockets in a temporary folder. Each socket file leads through a relay, so
 * that a test can interrupt, stall or garble what the workers say to each other.
 */
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Socket } from "bun";
import { type UnixOptions, UnixTransport } from "../transport/unix.ts";

const SLOTS = 4;

interface Side {
  other: Socket<Side> | undefined;
  /** Bytes that the other side has not taken yet. */
  queue: Buffer;
}

/** Passes on what workers say between two socket files. */
class Relay {
  private readonly sockets = new Set<Socket<Side>>();
  private readonly listener;
  /** Connections are accepted, and nothing is ever answered. */
  isSilent = false;
  /** What is sent is not passed on. */
  isStalled = false;

  constructor(
    path: string,
    private readonly to: string,
  ) {
    this.listener = Bun.listen<Side>({
      unix: path,
      socket: { ...this.handler, open: (socket) => void this.open(socket) },
    });
  }

  cut(): void {
    for (const socket of this.sockets) socket.terminate();
  }

  release(): void {
    this.isStalled = false;
    for (const socket of this.sockets) socket.resume();
  }

  stop(): void {
    this.listener.stop(true);
    this.cut();
  }

  private readonly handler = {
    data: (socket: Socket<Side>, bytes: Buffer): void => {
      socket.data.queue = Buffer.concat([socket.data.queue, bytes]);
      this.pass(socket);
    },
    drain: (socket: Socket<Side>): void => {
      if (socket.data.other) this.pass(socket.data.other);
    },
    close: (socket: Socket<Side>): void => {
      this.sockets.delete(socket);
      socket.data.other?.end();
    },
  };

  private async open(socket: Socket<Side>): Promise<void> {
    this.sockets.add(socket);
    socket.data = { other: undefined, queue: Buffer.alloc(0) };
    if (this.isSilent) return;
    try {
      const socketHandler = { ...this.handler, open: () => undefined };
      const other = await Bun.connect<Side>({
        unix: this.to,
        data: { other: socket, queue: Buffer.alloc(0) },
        socket: socketHandler,
      });
      this.sockets.add(other);
      socket.data.other = other;
      this.pass(socket);
    } catch {
      socket.terminate();
    }
  }

  private pass(from: Socket<Side>): void {
    if (this.isStalled) from.pause();
    if (this.isStalled || !from.data.other) return;
    const count = Math.max(0, from.data.other.write(from.data.queue));
    from.data.queue = from.data.queue.subarray(count);
    if (from.data.queue.length > 0) from.pause();
    else from.resume();
  }
}

interface Entry {
  readonly transport: UnixTransport;
  readonly relay: Relay;
}

export class UnixFolder {
  readonly path = mkdtempSync(join(tmpdir(), "parley-bus-"));
  readonly warnings: string[] = [];
  private readonly bySlot = new Map<number, Entry>();

  pathOf(slot: number): string {
    return join(this.path, `bus-${slot}.sock`);
  }

  /** A worker in the lowest slot that is free. */
  async join(options: Partial<UnixOptions> = {}): Promise<UnixTransport> {
    for (const [slot, { transport }] of this.bySlot) if (!transport.isUp) this.removeRelay(slot);
    const slot = options.slot ?? [...Array(SLOTS).keys()].find((one) => !this.bySlot.has(one)) ?? SLOTS;
    const warn = (text: string): void => void this.warnings.push(text);
    const transport = await UnixTransport.join({ folder: this.path, slots: SLOTS, warn, ...options, slot });
    const hidden = join(this.path, `real-${slot}.sock`);
    renameSync(this.pathOf(slot), hidden);
    this.bySlot.set(slot, { transport, relay: new Relay(this.pathOf(slot), hidden) });
    return transport;
  }

  /** Without it the slot of a worker that is closed would look as if its process were stopped. */
  removeRelay(slot: number): void {
    this.bySlot.get(slot)?.relay.stop();
    this.bySlot.delete(slot);
    rmSync(this.pathOf(slot), { force: true });
  }

  relay(slot: number): Relay {
    const entry = this.bySlot.get(slot);
    if (!entry) throw new Error(`there is no worker in slot ${slot}`);
    return entry.relay;
  }

  /** No worker can reach another one. */
  startOutage(): void {
    for (const { relay } of this.bySlot.values()) {
      relay.isSilent = true;
      relay.cut();
    }
  }

  endOutage(): void {
    for (const { relay } of this.bySlot.values()) {
      relay.isSilent = false;
      relay.cut();
    }
  }

  async remove(): Promise<void> {
    for (const { transport, relay } of this.bySlot.values()) {
      await transport.close();
      relay.stop();
    }
    rmSync(this.path, { recursive: true, force: true });
  }
}
