/** The rate of calls about a room that need no secret key: per address of the client, and per room. */
import { rateKey } from "../access/address.ts";
import type { MakeThrottle } from "../access/shared-throttle.ts";
import type { Throttle } from "../access/throttle.ts";
import { Problem } from "../protocol/codes.ts";
import type { AppRow } from "../store/store.ts";
import type { Call } from "./call.ts";
import type { Guard } from "./endpoint.ts";
import { MEETING_CALLS_PER_MINUTE_PER_ADDRESS, MEETING_CALLS_PER_MINUTE_PER_ROOM } from "./limits.ts";
import { roomNameOf } from "./room-schemas.ts";

/** One per endpoint: looking at the door must not use up joins. */
export class MeetingRates {
  private readonly addresses: Throttle;
  private readonly rooms: Throttle;

  constructor(name: string, throttle: MakeThrottle) {
    const perMinute = (of: string, count: number): Throttle => throttle(`${name}-${of}`, count, count / 60);
    this.addresses = perMinute("addresses", MEETING_CALLS_PER_MINUTE_PER_ADDRESS);
    this.rooms = perMinute("rooms", MEETING_CALLS_PER_MINUTE_PER_ROOM);
  }

  /** The guard of such a call: it is counted before anything of its body is read. */
  guard(open: Guard<AppRow | undefined>): Guard<AppRow | undefined> {
    return {
      ...open,
      admit: (call) => {
        const admitted = open.admit(call);
        const charged = (app: AppRow | undefined): AppRow | undefined => {
          this.charge(call, app, roomNameOf(call));
          return app;
        };
        return admitted instanceof Promise ? admitted.then(charged) : charged(admitted);
      },
    };
  }

  /** Throws rate_limited. The address first: what it is refused for must not use up the room's rate. */
  charge(call: Call, app: AppRow | undefined, roomName: string): void {
    refuse(
      this.addresses.take(rateKey(call.client)),
      `At most ${MEETING_CALLS_PER_MINUTE_PER_ADDRESS} of these requests a minute come from one address.`,
    );
    if (app)
      refuse(
        this.rooms.take(`${app.id}/${roomName}`),
        `At most ${MEETING_CALLS_PER_MINUTE_PER_ROOM} of these requests a minute are for one room.`,
      );
  }
}

function refuse(waitSeconds: number, message: string): void {
  if (waitSeconds > 0) throw new Problem("rate_limited", message, waitSeconds);
}
