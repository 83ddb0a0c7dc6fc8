/**
 * The sockets between the workers of one machine: one for each pair. Each worker listens at `bus-<slot>.sock`. The worker of the
 * higher slot connects; the one of the lower slot only says hello at the other's socket, and the other then connects at once. So a
 * worker that starts is connected to all others before it serves clients, and no pair ever has two connections.
 */
import { chmodSync, existsSync, mkdirSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Socket, SocketHandler, UnixSocketListener } from "bun";
import { CONNECTIONS_MAX } from "./interests.ts";
import { Slots } from "./slots.ts";
import { type Worker, WorkerConnection, type WorkerConnectionEvents } from "./worker-connection.ts";

/** How often lost workers are tried. */
const TICK_MS = 100;
/** How often slots without a process are tried: rarely, because a worker that starts there says hello by itself. */
const QUIET_TICK_MS = 5000;
/** A socket that is not connected by then is closed: the other process may be stopped. */
const GREETING_MS = 1000;
/**
 * How long a worker that starts waits for the others: alone it would accept messages that they miss. Longer than their supervisor lets a
 * busy one be silent (BUSY_MAX_MS): by then each has answered, or was killed.
 */
const JOIN_MAX_MS = 20_000;
/** The kernel's limit for the path of a Unix socket, without the final 0. */
const PATH_MAX_BYTES = 107;
/** Stands for a connection that has not said which worker it is. */
const NO_SLOT = -1;
/** Error codes of a socket file that is missing, or that a process left when it ended. */
const MISSING = "ENOENT";
const NO_PROCESS: readonly unknown[] = [MISSING, "ECONNREFUSED"];

export interface MeshOptions {
  /** Holds the sockets. Only this user may open it. */
  readonly folder: string;
  /** 0 to slots - 1, different for each worker at one time. */
  readonly slot: number;
  readonly slots: number;
  /** Gets a sentence for the log. */
  readonly warn: (text: string) => void;
  /** Whether a worker serves clients in that slot, as far as is known. */
  readonly isServing: (slot: number) => boolean;
  readonly joinMaxMs?: number;
  /** Bound: bytes that are queued for one worker; above it the connection is cut. */
  readonly queueMaxBytes: number;
}

export interface MeshEvents extends Omit<WorkerConnectionEvents, "greeted" | "ready" | "closed"> {
  /** The connection has an index from now on. The subscriptions are to be announced. */
  opened(connection: WorkerConnection): void;
  /** The connection has lost its index. */
  closed(connection: WorkerConnection): void;
  down(): void;
  up(): void;
  failed(error: unknown): void;
}

export class Mesh {
  readonly slots: Slots;
  /** By index; connections whose worker is known. Bound: one per worker. */
  readonly connections: (WorkerConnection | undefined)[] = [];
  private readonly me: Worker;
  private readonly connectionEvents: WorkerConnectionEvents;
  private readonly handler: SocketHandler<WorkerConnection>;
  private listener: UnixSocketListener<WorkerConnection> | undefined;
  private inode = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isTickSoon = false;
  private absentTriedMs = 0;
  /** Slots that this worker is connecting to. Bound: one per slot. */
  private readonly trying = new Set<number>();
  /** Sockets that are not ready, and since when. Bound: the workers of this machine; cut after a timeout. */
  private readonly greeting = new Map<WorkerConnection, number>();
  /** The last warning about each slot: the same one is not repeated with each attempt. Bound: one per slot. */
  private readonly warned = new Map<number, string>();
  private isClosed = false;

  constructor(
    private readonly options: MeshOptions,
    private readonly events: MeshEvents,
  ) {
    const { slot, slots } = options;
    this.me = { slot, incarnation: crypto.randomUUID() };
    this.slots = new Slots({
      slots,
      own: slot,
      nowMs: () => performance.now(),
      down: () => events.down(),
      up: () => events.up(),
    });
    this.connectionEvents = {
      ...events,
      greeted: (connection, worker) => this.greeted(connection, worker),
      ready: (connection) => this.ready(connection),
      closed: (connection, reason) => this.closed(connection, reason),
    };
    this.handler = {
      open: (socket) => this.guarded(() => this.accepted(socket)),
      data: (socket, bytes) => this.guarded(() => socket.data?.read(bytes)),
      drain: (socket) => this.guarded(() => socket.data?.drained()),
      close: (socket) => this.guarded(() => socket.data?.ended()),
      error: (socket) => this.guarded(() => socket.data?.ended()),
    };
  }

  /** Resolves when this worker is connected to all others that are running. Throws when the slot is in use, or one of them does not answer. */
  async join(): Promise<void> {
    const { slot, joinMaxMs = JOIN_MAX_MS } = this.options;
    const path = this.pathOf(slot);
    if (Buffer.byteLength(path) > PATH_MAX_BYTES)
      throw new Error(`the path ${path} is longer than ${PATH_MAX_BYTES} bytes, the limit for a Unix socket`);
    if (existsSync(path) && (await hasListener(path)))
      throw new Error(`another process listens at ${path}: a worker of slot ${slot} is already running`);
    this.listen(path);
    this.tickSoon();
    for (const other of this.slots.others) void this.attempt(other);
    await Promise.race([this.slots.settle(), Bun.sleep(joinMaxMs)]);
    const { awaited } = this.slots;
    if (awaited.length === 0) return;
    this.close();
    throw new Error(`worker ${awaited.join(" and ")} did not answer within ${joinMaxMs / 1000} seconds`);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.timer);
    this.listener?.stop();
    // Before the connections: the others find no socket when they look whether this worker is gone.
    this.removeFile();
    for (const connection of [...this.connections, ...this.greeting.keys()]) connection?.close();
  }

  private pathOf(slot: number): string {
    return join(this.options.folder, `bus-${slot}.sock`);
  }

  /**
   * Under its own name from the beginning, which the kernel lists: programs that remove old files from /tmp take a socket with another name
   * for one that no process uses. A file that a killed process left is removed; like a missing one it means that the slot is empty.
   */
  private listen(path: string): void {
    mkdirSync(this.options.folder, { recursive: true, mode: 0o700 });
    removeQuietly(path);
    this.listener = Bun.listen<WorkerConnection>({ unix: path, socket: this.handler });
    chmodSync(path, 0o600);
    this.inode = statSync(path).ino;
  }

  /** Without its file, workers that start later would not find this one. */
  private restoreFile(): void {
    const path = this.pathOf(this.options.slot);
    if (existsSync(path)) return;
    this.options.warn(`another program removed ${path}, this worker's socket; creating a new one`);
    this.listener?.stop();
    this.listen(path);
  }

  private removeFile(): void {
    const path = this.pathOf(this.options.slot);
    try {
      if (statSync(path).ino === this.inode) unlinkSync(path);
    } catch {
      // Another process has removed it, or the folder.
    }
  }

  /** While all is well, an idle worker is not woken often. */
  private tickSoon(): void {
    if (!this.isTickSoon) this.schedule(TICK_MS);
  }

  private schedule(ms: number): void {
    if (this.isClosed) return;
    this.isTickSoon = ms === TICK_MS;
    clearTimeout(this.timer);
    // No boundary: it catches and reports what it throws.
    this.timer = setTimeout(() => {
      this.guarded(() => this.tick());
      this.schedule(this.slots.isSettled && this.greeting.size === 0 ? QUIET_TICK_MS : TICK_MS);
    }, ms);
  }

  private tick(): void {
    const nowMs = performance.now();
    this.guarded(() => this.restoreFile());
    for (const [connection, sinceMs] of this.greeting)
      if (sinceMs < nowMs - GREETING_MS) connection.cut(`it has not answered within ${GREETING_MS} ms`);
    const isAbsentDue = nowMs - this.absentTriedMs >= QUIET_TICK_MS;
    if (isAbsentDue) this.absentTriedMs = nowMs;
    for (const slot of this.slots.others) if (isAbsentDue || !this.slots.isAbsent(slot)) void this.attempt(slot);
    this.slots.check();
  }

  /** Connects to a worker, or asks it to connect; see above. */
  private async attempt(slot: number): Promise<void> {
    if (this.isClosed || this.slots.isLinked(slot) || this.trying.has(slot)) return;
    this.trying.add(slot);
    try {
      await Bun.connect<WorkerConnection>({
        unix: this.pathOf(slot),
        socket: {
          ...this.handler,
          open: (socket) => this.guarded(() => this.connected(socket, slot)),
          // Also the rejection below.
          connectError: () => undefined,
        },
      });
    } catch (error) {
      this.trying.delete(slot);
      if (this.isAbsence(error, slot)) this.guarded(() => this.slots.absent(slot));
    }
  }

  /** The file of a worker that serves clients was removed by another program: that worker makes it again, and is waited for. */
  private isAbsence(error: unknown, slot: number): boolean {
    const isHidden = codeOf(error) === MISSING && this.slots.isUnknown(slot) && this.options.isServing(slot);
    return isRefusal(error) && !isHidden;
  }

  private connected(socket: Socket<WorkerConnection>, slot: number): void {
    const connection = this.newConnection(socket, slot);
    if (this.isClosed) return connection.close();
    connection.hello(this.me);
    connection.flush();
  }

  private accepted(socket: Socket<WorkerConnection>): void {
    const connection = this.newConnection(socket);
    if (this.isClosed || this.greeting.size > CONNECTIONS_MAX) connection.close();
  }

  private newConnection(socket: Socket<WorkerConnection>, slot?: number): WorkerConnection {
    const connection = new WorkerConnection(socket, this.connectionEvents, this.options.queueMaxBytes, slot);
    socket.data = connection;
    this.greeting.set(connection, performance.now());
    this.tickSoon();
    return connection;
  }

  private greeted(connection: WorkerConnection, { slot }: Worker): boolean {
    const { me, connections } = this;
    if (this.isClosed || !this.slots.has(slot)) return false;
    if (connection.connectedTo === undefined) {
      // A worker of a lower slot asks this one to connect.
      if (slot < me.slot) void this.attempt(slot);
      if (slot < me.slot) return false;
      connection.hello(me);
    } else if (connection.connectedTo !== slot || slot > me.slot) return false;
    const free = connections.indexOf(undefined);
    connection.index = free < 0 ? connections.length : free;
    connections[connection.index] = connection;
    this.events.opened(connection);
    return true;
  }

  private ready(connection: WorkerConnection): void {
    const slot = connection.worker?.slot ?? NO_SLOT;
    this.greeting.delete(connection);
    this.warned.delete(slot);
    this.slots.connected(slot, connection)?.cut();
    this.slots.check();
  }

  private closed(connection: WorkerConnection, reason: string | undefined): void {
    const slot = connection.worker?.slot ?? connection.connectedTo ?? NO_SLOT;
    this.greeting.delete(connection);
    if (connection.connectedTo !== undefined) this.trying.delete(connection.connectedTo);
    if (reason !== undefined) this.warnOnce(slot, reason);
    if (connection.index < 0) return;
    this.connections[connection.index] = undefined;
    this.events.closed(connection);
    if (!this.slots.lost(slot, connection)) return;
    void this.attempt(slot);
    this.tickSoon();
  }

  private warnOnce(slot: number, reason: string): void {
    if (this.warned.get(slot) === reason) return;
    this.warned.set(slot, reason);
    this.options.warn(`the connection to worker ${slot === NO_SLOT ? "(unknown)" : slot} is closed: ${reason}`);
  }

  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.events.failed(error);
    }
  }
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
const isRefusal = (error: unknown): boolean => NO_PROCESS.includes(codeOf(error));

async function hasListener(path: string): Promise<boolean> {
  try {
    const socket = await Bun.connect({ unix: path, socket: { data: () => undefined, connectError: () => undefined } });
    socket.terminate();
    return true;
  } catch (error) {
    return !isRefusal(error);
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It does not exist.
  }
}
