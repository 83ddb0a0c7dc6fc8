/** People in rooms, and as the control as many peers in plain channels of the same size. Each step is done for all before the next. */
import { inboxChannel, roomChannel } from "../../src/protocol/room-channels.ts";
import { postBytes } from "../lib/load.ts";
import { connectToken } from "../lib/token.ts";
import { Client } from "./client.ts";
import { HttpLine } from "./http-line.ts";
import type { Room, RoomNode } from "./node.ts";

export const PER_ROOM = 4;
/** This is below the rate of joins per address. */
const JOINS_PER_ADDRESS = 16;
const NAME = "Alice Example";
const LIFE_SECONDS = 3600;

export interface Participant {
  readonly client: Client;
  readonly inbox: string;
}

/** What is done one after the other, each for all people before the next: the CPU clock is read in between. */
export interface Steps {
  readonly steps: readonly (readonly [name: string, work: () => Promise<void>])[];
  leave(): Promise<void>;
}

let addresses = 0;
/** Loopback has 16 million of them. */
function nextSource(): string {
  addresses++;
  return `127.1.${(addresses >> 8) & 255}.${addresses & 255}`;
}

export interface RoomSteps extends Steps {
  /** By room, after all steps. */
  readonly rooms: readonly Participant[][];
}

interface Joined {
  readonly participantSession: string;
  readonly connect: { readonly token: string };
}

/** Four people per room; those of one room come from different addresses. Pages are open before the first step. */
export async function inRooms(node: RoomNode, rooms: readonly Room[]): Promise<RoomSteps> {
  const count = rooms.length * PER_ROOM;
  const pages: HttpLine[] = [];
  // At least one page per person of a room: an address holds two places of a room at most.
  const pageCount = Math.max(PER_ROOM, Math.ceil(count / JOINS_PER_ADDRESS));
  for (let at = 0; at < pageCount; at++) pages.push(await HttpLine.open({ ...node.address, source: nextSource() }));
  const joined: { room: Room; answer: Joined }[] = [];
  const participants: Participant[] = [];
  const join = async (at: number): Promise<void> => {
    const room = pick(rooms, Math.floor(at / PER_ROOM));
    const answer = (await pick(pages, at % pages.length).send(joinRequest(node, room))) as Joined;
    joined.push({ room, answer });
  };
  const connect = async (at: number): Promise<void> => {
    const { room, answer } = pick(joined, at);
    const client = new Client();
    await client.connect(node.address, answer.connect.token);
    participants.push({ client, inbox: inboxChannel(room.id, answer.participantSession) });
  };
  const subscribe = async (at: number): Promise<void> => {
    const { client } = pick(participants, at);
    await client.ask({ type: "subscribe", channel: roomChannel(pick(joined, at).room.id) });
  };
  return {
    steps: [
      ["join", () => oneByOne(count, join)],
      ["connect", () => oneByOne(count, connect)],
      [
        "subscribe",
        () =>
          untilRosters(
            participants.map(({ client }) => client),
            subscribe,
          ),
      ],
    ],
    get rooms() {
      return rooms.map((_room, at) => participants.slice(at * PER_ROOM, (at + 1) * PER_ROOM));
    },
    leave: async () => {
      for (const page of pages) page.close();
      await Promise.all(participants.map(({ client }) => client.leave()));
    },
  };
}

/** As a page of the room sends it. */
function joinRequest({ url, appHost }: RoomNode, { name }: Room): Uint8Array {
  const headers = { Host: appHost, Origin: `http://${appHost}`, Accept: "application/json" };
  return postBytes(new URL(`/api/v1/room/${name}/join`, url), headers, { name: NAME });
}

/** The control: as many peers, four per channel, which know each other's names too. */
export function inChannels({ address, secretKey }: RoomNode, count: number, round: string): Steps {
  const clients: Client[] = [];
  const token = (at: number): string =>
    connectToken(secretKey, {
      peerId: `${round}-${at}`,
      peerMetadata: { name: NAME, isAdmin: false, isGuest: true },
      lifeSeconds: LIFE_SECONDS,
    });
  const connect = async (at: number): Promise<void> => {
    const client = new Client();
    await client.connect(address, token(at));
    clients.push(client);
  };
  const subscribe = (at: number): Promise<void> =>
    pick(clients, at).ask({ type: "subscribe", channel: `${round}/${Math.floor(at / PER_ROOM)}` });
  return {
    steps: [
      ["plain connect", () => oneByOne(count, connect)],
      ["plain subscribe", () => untilRosters(clients, subscribe)],
    ],
    leave: async () => {
      await Promise.all(clients.map((client) => client.leave()));
    },
  };
}

async function oneByOne(count: number, step: (at: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < count; at++) await step(at);
}

async function untilRosters(clients: readonly Client[], subscribe: (at: number) => Promise<void>): Promise<void> {
  await oneByOne(clients.length, subscribe);
  await Promise.all(clients.map((client) => client.until("roster", 1)));
}

function pick<T>(all: readonly T[], at: number): T {
  const found = all[at];
  if (found === undefined) throw new Error(`there is no number ${at} of ${all.length}`);
  return found;
}
