/** The guard of calls that an application's server makes with its secret key, and a page with the connect token of its stay. */
import { bearer } from "../access/credential.ts";
import { isRoomToken } from "../access/room-token.ts";
import type { AppRow } from "../store/store.ts";
import type { ApplicationGuards } from "./application.ts";
import type { Call } from "./call.ts";
import type { Guard } from "./endpoint.ts";

/** `token` is not verified yet. */
export type ServerOrStay =
  | { readonly by: "server"; readonly app: AppRow }
  | { readonly by: "stay"; readonly app: AppRow | undefined; readonly token: string };

/** Calls with a token of a room are counted against the client's address, like all without a secret key. */
export function serverOrStay({ secretKey, open }: ApplicationGuards): Guard<ServerOrStay> {
  const byServer = (app: AppRow): ServerOrStay => ({ by: "server", app });
  const byStay =
    (token: string) =>
    (app: AppRow | undefined): ServerOrStay => ({ by: "stay", app, token });
  return {
    ...secretKey,
    admit: (call) => {
      const token = stayTokenOf(call);
      return token === undefined ? then(secretKey.admit(call), byServer) : then(open.admit(call), byStay(token));
    },
    recheck: (call) => {
      const token = stayTokenOf(call);
      return token === undefined ? byServer(secretKey.recheck(call)) : byStay(token)(open.recheck(call));
    },
  };
}

const then = <T, R>(value: T | Promise<T>, make: (value: T) => R): R | Promise<R> =>
  value instanceof Promise ? value.then(make) : make(value);

/** The Bearer, if it is a token of a room. No secret key looks like one. */
function stayTokenOf({ request }: Call): string | undefined {
  const text = bearer(request.headers.get("authorization"));
  return text !== undefined && isRoomToken(text) ? text : undefined;
}
