/**
 * Turns Bun's socket events into calls of the realtime parts. An exception that left a handler would end the process, so each of
 * them is a boundary: the socket that it happened on is closed with 1011.
 */
import type { WebSocketHandler } from "bun";
import { type Grant, keyIdOf } from "../../access/admission/admit.ts";
import type { Address } from "../../base/address.ts";
import { appOfSpace } from "../../base/ids.ts";
import type { Claim } from "../../engine/engine.ts";
import { FAULT, OVER_CONCURRENT } from "../../protocol/close.ts";
import { FRAME_MAX_BYTES } from "../../protocol/limits.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Counter } from "../../telemetry/metrics.ts";
import { safely } from "../../telemetry/safely.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Connections } from "../connections/connections.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Delivery } from "../messages/delivery.ts";
import type { Presence } from "../presence/presence.ts";
import { Connection } from "../state/connection.ts";
import { departureByClient } from "../state/departure.ts";
import type { Socket } from "../state/socket.ts";
import type { Replays } from "../streams/replays.ts";
import type { Dispatch } from "./dispatch.ts";

/** Until a socket opens: its grant, the client's address, and its claim on the application's capacity, if that is limited. */
export interface PendingSocket {
  readonly grant: Grant;
  readonly client: Address;
  readonly claim?: Claim | undefined;
  readonly isOverCap?: boolean;
}

/** What a socket carries: its grant until it opens, then its connection; nothing if it was over the cap. */
export type SocketData = PendingSocket | Connection | undefined;

/** A socket as it comes from the runtime, or from event-sockets/. */
export interface DataSocket extends Socket {
  data: SocketData;
}

/** What a socket calls. None of them throws. */
export interface SocketEvents {
  open(ws: DataSocket): void;
  message(ws: DataSocket, message: string | Buffer): void;
  /** The client has sent a control frame. */
  ping(ws: DataSocket): void;
  pong(ws: DataSocket, payload: Buffer): void;
  drain(ws: DataSocket): void;
  close(ws: DataSocket, code: number, reason: string): void;
}

interface SocketHandlersParts {
  readonly boundary: Boundary;
  readonly connections: Connections;
  readonly delivery: Delivery;
  readonly emitter: Emitter;
  readonly presence: Presence;
  readonly replays: Replays;
  readonly dispatch: Dispatch;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly maxPendingBytes: number;
  readonly roomHooks: RoomHooks;
}

/** A client may close with any number: unknown ones share one series in the metrics. */
const CLOSE_CODES = new Set([
  1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 4001, 4002, 4010, 4011, 4020, 4021,
]);
const OTHER_CODE = 0;

export class SocketHandlers {
  /** By close code. Bound: CLOSE_CODES, and one for all others. */
  private readonly closes = new Map<number, Counter>();

  constructor(private readonly parts: SocketHandlersParts) {}

  /** Bun's handlers and limits for every WebSocket; other sockets call the same ones. */
  handlers(): WebSocketHandler<SocketData> & SocketEvents {
    return {
      open: (ws) => {
        try {
          this.opened(ws);
        } catch (error) {
          this.failed(ws, "open", error);
        }
      },
      message: (ws, message) => {
        const connection = ws.data;
        if (!(connection instanceof Connection)) return;
        try {
          if (typeof message === "string") this.parts.dispatch.text(connection, message);
          else this.parts.dispatch.binary(connection, message.length);
        } catch (error) {
          this.failed(ws, "message", error);
        }
      },
      ping: (ws) => {
        if (!(ws.data instanceof Connection)) return;
        try {
          this.parts.dispatch.controlPing(ws.data);
        } catch (error) {
          this.failed(ws, "ping", error);
        }
      },
      pong: (ws, payload) => {
        if (!(ws.data instanceof Connection)) return;
        try {
          this.parts.dispatch.controlPong(ws.data, payload);
        } catch (error) {
          this.failed(ws, "pong", error);
        }
      },
      drain: (ws) => {
        try {
          if (!(ws.data instanceof Connection) || !ws.data.open) return;
          this.parts.presence.onDrained(ws.data);
          this.parts.replays.onDrained(ws.data);
        } catch (error) {
          this.failed(ws, "drain", error);
        }
      },
      close: (ws, code, reason) => {
        try {
          this.closed(ws, code, reason);
        } catch (error) {
          this.failed(ws, "close", error);
        }
      },
      sendPings: false,
      // Liveness is our own (liveness.ts), and its pings keep this timer from ever running out. Bun also uses it as the time
      // it waits for the other side after a close: if it were too short, a client that is still sending would get a reset
      // and never read the close code.
      idleTimeout: 120,
      maxPayloadLength: FRAME_MAX_BYTES,
      perMessageDeflate: false,
      // A slow reader is cut: leaving messages out would be a silent gap.
      backpressureLimit: this.parts.maxPendingBytes,
      closeOnBackpressureLimit: true,
    };
  }

  private opened(ws: DataSocket): void {
    const pending = ws.data;
    if (!pending || pending instanceof Connection) return;
    const { grant, client } = pending;
    if (pending.isOverCap) {
      const { spaceId, peerId } = grant;
      this.parts.emitter.refused(
        "over_concurrent",
        { app: appOfSpace(spaceId), keyId: keyIdOf(grant), peerId },
        client,
      );
      ws.data = undefined;
      ws.close(OVER_CONCURRENT.code, OVER_CONCURRENT.reason);
      return;
    }
    try {
      const connection = this.parts.connections.connect(grant, ws, client);
      ws.data = connection;
      if (grant.seat) this.parts.roomHooks.connected(grant.seat, connection.id);
    } finally {
      pending.claim?.end();
    }
  }

  private failed(ws: DataSocket, event: string, error: unknown): void {
    const { boundary, faults } = this.parts;
    if (ws.data instanceof Connection) return boundary.connectionFailed("socket", ws.data, error, { event });
    faults.caught("socket", error, { event });
    safely(faults, "socket", () => ws.close(FAULT.code, FAULT.reason));
  }

  private closed(ws: DataSocket, code: number, reason: string): void {
    const { connections, delivery, metrics } = this.parts;
    this.countClose(CLOSE_CODES.has(code) ? code : OTHER_CODE);
    if (!(ws.data instanceof Connection)) return;
    // The runtime does not say that it cut a slow reader: a connection that ends so while writes wait counts as one.
    if (ws.data.open && code === 1006 && delivery.isUnderPressure) metrics.slowCuts.inc();
    connections.disconnect(ws.data, code, departureByClient(code), reason);
  }

  /** With one lookup: when thousands are lost at once, building the labels of each would add to the work. */
  private countClose(code: number): void {
    let counter = this.closes.get(code);
    if (!counter) {
      counter = this.parts.metrics.closes({ code: code === OTHER_CODE ? "other" : String(code) });
      this.closes.set(code, counter);
    }
    counter.inc();
  }
}
