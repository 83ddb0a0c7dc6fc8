/** Guards of calls that a page makes with the connect token of its stay as Bearer; an application's server makes some of them with its secret key. */
import { bearer } from "../../access/keys/credential.ts";
import { isRoomToken } from "../../access/tokens/room-token.ts";
import { noStayToken, type StayTokens } from "../../meetings/stays/tokens.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Call } from "../request/call.ts";
import type { Guard } from "../server/endpoint.ts";
import type { ApplicationGuards } from "./application.ts";
import type { MeetingRates } from "./meeting-rates.ts";

/** The token was verified; whether its stay goes on is for the store to say. */
export interface StayCaller {
  readonly app: AppRow;
  readonly token: string;
}

interface StayGuardParts {
  readonly guards: ApplicationGuards;
  readonly stayTokens: Pick<StayTokens, "claims">;
  readonly rates: MeetingRates;
  /** A token may have expired up to that long ago: a page sends what it has recorded after its stay. */
  readonly keptMs?: number;
}

/** The signature is checked before anything is charged, so that no one can use up the rate of another caller (meeting-rates.ts). */
export function stayGuard({ guards: { unpaid }, stayTokens, rates, keptMs }: StayGuardParts): Guard<StayCaller> {
  const verified = (call: Call): StayCaller & { readonly id: string } => {
    const app = unpaid.recheck(call);
    const token = bearer(call.request.headers.get("authorization"));
    if (token === undefined) throw noStayToken();
    // Verified also where there is no application: the time it takes does not reveal which exist.
    const { id } = stayTokens.claims(app?.id, token, keptMs);
    if (!app) throw noStayToken();
    return { app, token, id };
  };
  return {
    ...unpaid,
    admit: (call) => {
      let caller: ReturnType<typeof verified>;
      try {
        caller = verified(call);
      } catch (refusal) {
        rates.refused(call);
        throw refusal;
      }
      rates.own(call, `stay ${caller.id}`);
      return caller;
    },
    recheck: verified,
  };
}

export type ServerOrStay = { readonly by: "server"; readonly app: AppRow } | ({ readonly by: "stay" } & StayCaller);

/** For calls that both make. */
export function serverOrStay({ secretKey }: ApplicationGuards, stay: Guard<StayCaller>): Guard<ServerOrStay> {
  const byServer = (app: AppRow): ServerOrStay => ({ by: "server", app });
  const byStay = (caller: StayCaller): ServerOrStay => ({ by: "stay", ...caller });
  return {
    ...secretKey,
    admit: (call) => (isOfStay(call) ? then(stay.admit(call), byStay) : then(secretKey.admit(call), byServer)),
    recheck: (call) => (isOfStay(call) ? byStay(stay.recheck(call)) : byServer(secretKey.recheck(call))),
  };
}

const then = <T, R>(value: T | Promise<T>, make: (value: T) => R): R | Promise<R> =>
  value instanceof Promise ? value.then(make) : make(value);

/** Whether the Bearer is a token of a room. No secret key looks like one. */
function isOfStay({ request }: Call): boolean {
  const text = bearer(request.headers.get("authorization"));
  return text !== undefined && isRoomToken(text);
}
