/**
 * The rates of calls about a room that need no secret key (meetings.md 6). Callers of one kind cannot use up what callers of another kind need:
 *
 * - A verified caller has a rate of its own, by its stay or its ticket. An access token may be one that many people share: each site that it comes from has a rate
 *   of its own, and all of them together have a larger one.
 * - A guest, who has no credential, is counted by its address; those who are not refused also by the room.
 * - A credential that this service has not made is counted by the address it comes from, and by nothing else.
 */
import { networksOf } from "../../base/address.ts";
import type { MakeThrottle } from "../../base/shared-throttle.ts";
import type { Throttle } from "../../base/throttle.ts";
import type { JoinBudget } from "../../meetings/contract/ports.ts";
import { Problem } from "../../protocol/codes.ts";
import {
  MEETING_CALLS_PER_MINUTE_PER_ADDRESS,
  MEETING_CALLS_PER_MINUTE_PER_CALLER,
  MEETING_CALLS_PER_MINUTE_PER_ROOM,
  MEETING_CALLS_PER_MINUTE_PER_SITE,
  MEETING_CALLS_PER_MINUTE_PER_TOKEN,
} from "../limits.ts";
import type { Call } from "../request/call.ts";
import type { UnauthenticatedLimit } from "../server/unauthenticated-limit.ts";

/** Makes the rates of one endpoint. */
export type MakeRates = (name: string) => MeetingRates;

/** One per endpoint: looking at the door must not use up joins. */
export class MeetingRates {
  private readonly callers: Throttle;
  private readonly tokens: Throttle;
  private readonly rooms: Throttle;
  private readonly guests: AddressRate;
  private readonly refusals: AddressRate;

  constructor(
    name: string,
    throttle: MakeThrottle,
    private readonly unauthenticated: UnauthenticatedLimit,
  ) {
    const perMinute = (of: string, count: number): Throttle => throttle(`${name}-${of}`, count, count / 60);
    this.callers = perMinute("callers", MEETING_CALLS_PER_MINUTE_PER_CALLER);
    this.tokens = perMinute("tokens", MEETING_CALLS_PER_MINUTE_PER_TOKEN);
    this.rooms = perMinute("rooms", MEETING_CALLS_PER_MINUTE_PER_ROOM);
    this.guests = new AddressRate("guests", perMinute);
    this.refusals = new AddressRate("refusals", perMinute);
  }

  /** The caller was verified: whatever becomes of the call, no one else pays for it. */
  own(call: Call, holder: string): void {
    call.isAuthenticated = true;
    refuse(
      this.callers.take(holder),
      `A participant, or an access token at one address, can make at most ${MEETING_CALLS_PER_MINUTE_PER_CALLER} of these requests per minute.`,
    );
  }

  private token(call: Call, digest: string): void {
    const { address, site = address } = networksOf(call.client);
    // The site first: what it is refused takes nothing from the other holders.
    this.own(call, `token ${digest} ${site}`);
    refuse(
      this.tokens.take(digest),
      `An access token can make at most ${MEETING_CALLS_PER_MINUTE_PER_TOKEN} of these requests per minute.`,
    );
  }

  /** The credential is none of ours. */
  refused(call: Call): void {
    this.refusals.take(call);
  }

  budgetOf(call: Call): JoinBudget {
    return {
      own: (holder) => this.own(call, holder),
      token: (digest) => this.token(call, digest),
      refused: () => this.refused(call),
      stranger: () => this.chargeAddress(call),
      guest: () => {
        this.chargeAddress(call);
        this.guests.take(call);
      },
      guestOf: (room) => {
        refuse(
          this.rooms.take(room),
          `Guests of one room can make at most ${MEETING_CALLS_PER_MINUTE_PER_ROOM} of these requests per minute.`,
        );
        return () => this.rooms.charge(room, -1);
      },
    };
  }

  /** Like every request that needs no credential, once per call. */
  private chargeAddress(call: Call): void {
    if (!call.isCharged) this.unauthenticated.charge(call);
  }
}

/** By the address, of IPv6 by its /64, and by the /48: a site has 65,536 of the former. */
class AddressRate {
  private readonly addresses: Throttle;
  private readonly sites: Throttle;

  constructor(of: string, perMinute: (of: string, count: number) => Throttle) {
    this.addresses = perMinute(`${of}-addresses`, MEETING_CALLS_PER_MINUTE_PER_ADDRESS);
    this.sites = perMinute(`${of}-sites`, MEETING_CALLS_PER_MINUTE_PER_SITE);
  }

  take({ client }: Call): void {
    const { address, site } = networksOf(client);
    refuse(
      this.addresses.take(address),
      `One address can make at most ${MEETING_CALLS_PER_MINUTE_PER_ADDRESS} of these requests per minute.`,
    );
    if (site !== undefined)
      refuse(
        this.sites.take(site),
        `One network (/48) can make at most ${MEETING_CALLS_PER_MINUTE_PER_SITE} of these requests per minute.`,
      );
  }
}

function refuse(waitSeconds: number, message: string): void {
  if (waitSeconds > 0) throw new Problem("rate_limited", message, waitSeconds);
}
