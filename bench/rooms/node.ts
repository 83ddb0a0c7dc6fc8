/** One node with the embedded store, on the server's core, and rooms of the application `demo`. */
import { ON_SERVER_CORE } from "../contenders/core.ts";
import { OPEN_CEILINGS } from "../contenders/parley.ts";
import { startParley } from "../lib/parley.ts";
import { childrenOf } from "../lib/pinned.ts";
import type { Address } from "../lib/websocket.ts";
import { untilReady, workersArgs } from "../workers/systems.ts";

export interface Room {
  readonly id: string;
  readonly name: string;
}

export interface RoomNode extends AsyncDisposable {
  /** Every process whose CPU time counts. */
  readonly pids: readonly number[];
  readonly url: URL;
  readonly address: Address;
  /** `<sk_id>:<sk_secret>`, for the control. */
  readonly secretKey: string;
  /** The host of the application, with its port. */
  readonly appHost: string;
  newRooms(count: number): Promise<Room[]>;
}

export interface NodeOptions {
  /** The script to start, of another source tree. */
  readonly main?: string | undefined;
  readonly isPinned?: boolean;
  /** Default: one process. */
  readonly workers?: number;
}

export async function startNode({ main, isPinned = true, workers = 1 }: NodeOptions = {}): Promise<RoomNode> {
  const prefix = isPinned ? ON_SERVER_CORE : [];
  const server = await startParley({ main, prefix, settings: OPEN_CEILINGS, args: workersArgs(workers) });
  try {
    await untilReady(server.url, server.pid, workers);
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  const { url, secretKey, appSecret } = server;
  const appHost = `demo.localhost:${url.port}`;
  let made = 0;
  const newRoom = async (): Promise<Room> => {
    const name = `room-${++made}`;
    const response = await fetch(new URL("/api/v1/room", url), {
      method: "POST",
      headers: { Host: appHost, Authorization: `Bearer ${appSecret}`, "Content-Type": "application/json" },
      body: JSON.stringify({ roomName: name, privacy: "public" }),
    });
    if (!response.ok) throw new Error(`a room was not created: ${response.status} ${await response.text()}`);
    const { _id } = (await response.json()) as { _id: string };
    return { id: _id, name };
  };
  return {
    pids: [server.pid, ...childrenOf(server.pid)],
    url,
    secretKey,
    appHost,
    address: { host: url.hostname, port: Number(url.port), source: "127.0.0.1" },
    newRooms: async (count) => {
      const rooms: Room[] = [];
      for (let at = 0; at < count; at++) rooms.push(await newRoom());
      return rooms;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
