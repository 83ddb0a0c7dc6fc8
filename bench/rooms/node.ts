/** One node with the embedded store, on the server's core, and rooms of the application `demo`. */
import { ON_SERVER_CORE } from "../contenders/core.ts";
import { OPEN_CEILINGS } from "../contenders/parley.ts";
import { startParley } from "../lib/parley.ts";
import type { Address } from "../lib/websocket.ts";

export interface Room {
  readonly id: string;
  readonly name: string;
}

export interface RoomNode extends AsyncDisposable {
  readonly pid: number;
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
}

export async function startNode({ main, isPinned = true }: NodeOptions = {}): Promise<RoomNode> {
  const prefix = isPinned ? ON_SERVER_CORE : [];
  const server = await startParley({ main, prefix, settings: OPEN_CEILINGS });
  const { url, pid, secretKey, appSecret } = server;
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
    pid,
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
