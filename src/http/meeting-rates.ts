/** The rate of calls about a room that need no secret key: per address of the client, and per room. */
import { rateKey } from "../access/address.ts";
import { Throttle } from "../access/throttle.ts";
import { Problem } from "../protocol/codes.ts";
import type { AppRow } from "../store/store.ts";
import type { Call } from "./call.ts";
import type { Guard } from "./endpoint.ts";
import { MEETING_CALLS_PER_MINUTE_PER_ADDRESS, MEETING_CALLS_PER_MINUTE_PER_ROOM } from "./limits.ts";
import { roomNameOf } from "./room-schemas.ts";

const perMinute = (count: number, monotonicMs: () => number): Throttle => new Throttle(count, count / 60, monotonicMs);

export class MeetingRates {
  private readonly addresses: Throttle;
  private readonly rooms: Throttle;

  constructor(monotonicMs: () => number) {
    this.addresses = perMinute(MEETING_CALLS_PER_MINUTE_PER_ADDRESS, monotonicMs);
    this.rooms = perMinute(MEETING_CALLS_PER_MINUTE_PER_ROOM, monotonicMs);
  }

  /** The guard of such a call: it is counted before anything of its body is read. */
  guard(open: Guard<AppRow | undefined>): Guard<AppRow | undefined> {
    return {
      ...open,
      admit: async (call) => {
        const app = await open.admit(call);
        this.charge(call, app);
        return app;
      },
    };
  }

  /** What the address has used up does not count for the room: one client must not shut a room for the others. */
  private charge(call: Call, app: AppRow | undefined): void {
    const own = this.addresses.take(rateKey(call.client));
    if (own > 0) throw new Problem("rate_limited", "Too many calls about rooms from this address.", own);
    const all = this.rooms.take(`${app?.id ?? ""} ${roomNameOf(call)}`);
    if (all > 0) throw new Problem("rate_limited", "Too many calls about this room.", all);
  }
}
