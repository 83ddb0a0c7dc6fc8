/** For tests: people in a room, whose hooks are a stand-in that notes what it is asked. */
import { admitToken, type Grant, Refusal } from "../../access/admission/admit.ts";
import { Blocks } from "../../access/admission/blocks.ts";
import { type RoomRefusal, stayAccess, waitAccess } from "../../access/tokens/room-access.ts";
import type { RoomClaims, RoomSeat } from "../../access/tokens/room-token.ts";
import type { Departure } from "../../protocol/close.ts";
import type { Problem } from "../../protocol/codes.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import { RoomFloor } from "../control/room-floor.ts";
import { StreamsWorld } from "../streams/testing/streams-world.ts";
import { Client } from "./client.ts";
import { FakeSocket } from "./fake-socket.ts";
import { APP, ROOM_TOKENS } from "./keys.ts";
import type { WorldOptions } from "./kit.ts";

export const ROOM_ID = "room1";

/** Messages and states with the word `bad` are refused. */
const refusalOf = (json: string | null): RoomRefusal | undefined =>
  json?.includes("bad") ? { code: "malformed_message", message: "This is bad." } : undefined;

class FakeHooks implements RoomHooks {
  /** What it was asked, in short. */
  readonly heard: string[] = [];
  /** What `enter` and `check` reject with. */
  refuses: Problem | Error | undefined;
  /** What `enter` waits for. */
  until: Promise<void> = Promise.resolve();

  enter = async (seat: RoomSeat): Promise<void> => {
    this.heard.push(`enter ${seat.claims.id}`);
    await this.until;
    if (this.refuses) throw this.refuses;
    const { kind, room, id, isAdmin } = seat.claims;
    seat.access = kind === "stay" ? stayAccess(room, id, { isAdmin, mayChat: true }) : waitAccess(room, id);
  };

  check = async (seat: RoomSeat): Promise<void> => {
    this.heard.push(`check ${seat.claims.id}`);
    if (this.refuses) throw this.refuses;
  };

  connected = ({ claims }: RoomSeat, connection: string): void =>
    void this.heard.push(`connected ${claims.id}${connection === "" ? " without a connection" : ""}`);

  disconnected = ({ claims }: RoomSeat, connection: string, departure: Departure): void =>
    void this.heard.push(`${departure} ${claims.id}${connection === "" ? " without a connection" : ""}`);

  renewed = (seat: RoomSeat, before: RoomSeat): void =>
    void this.heard.push(`renewed ${before.claims.name} to ${seat.claims.name}`);

  subscribed = ({ claims }: RoomSeat, channel: string): void =>
    void this.heard.push(`subscribed ${claims.id} ${channel.split("/").slice(3).join("/")}`);

  /** Who a message is for is decided like this; everyone is inside by default. */
  receiver: (channel: string) => ReturnType<RoomHooks["refusalOfMessage"]> = () => undefined;

  refusalOfMessage: RoomHooks["refusalOfMessage"] = (_seat, channel, dataJson) =>
    refusalOf(dataJson) ?? this.receiver(channel);

  refusalOfState = (_seat: RoomSeat, _channel: string, stateJson: string | null): RoomRefusal | undefined =>
    refusalOf(stateJson);

  /** What it was asked since the last look. */
  take(): string[] {
    return this.heard.splice(0);
  }
}

export class RoomsWorld extends StreamsWorld {
  readonly hooks: FakeHooks;

  constructor(options: WorldOptions = {}) {
    const hooks = new FakeHooks();
    super({ roomHooks: hooks, ...options });
    this.hooks = hooks;
  }

  floor(node = 0): RoomFloor {
    return new RoomFloor(this.nodeAt(node).hub);
  }

  claims(id: string, more: Partial<RoomClaims> = {}): RoomClaims {
    const exp = Math.floor(this.clock.wallMs() / 1000) + 3600;
    const person = { name: id, isAdmin: false, isGuest: true };
    return { kind: "stay", id, app: APP, room: ROOM_ID, meeting: "m1", ...person, exp, ...more };
  }

  roomToken(id: string, more?: Partial<RoomClaims>): string {
    return ROOM_TOKENS.sign(this.claims(id, more));
  }

  roomGrant(id: string, more?: Partial<RoomClaims>): Grant {
    const parts = { keyring: this.keys.keyring, blocks: new Blocks(), roomTokens: ROOM_TOKENS };
    const keyRate = { debt: () => 0, charge: () => undefined };
    const admitted = admitToken(this.roomToken(id, more), { ...parts, keyRate }, this.clock.wallMs());
    if (admitted instanceof Refusal) throw new Error(admitted.reason);
    return admitted;
  }

  /** Connected to the room; its welcome is read. */
  async enter(
    id: string,
    { node = 0, ...more }: Partial<RoomClaims> & { readonly node?: number } = {},
  ): Promise<Client> {
    const { server, handlers, clock } = this.nodeAt(node);
    const grant = this.roomGrant(id, more);
    if (grant.seat) await this.hooks.enter(grant.seat);
    const socket = new FakeSocket(server, handlers, clock, { grant, client: [127, 0, 0, 1] });
    socket.open();
    const client = new Client(socket, this.nodeAt(node));
    client.take();
    return client;
  }
}
