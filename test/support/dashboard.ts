/** The dashboard as a browser uses it: a session, and the headers that its scripts send. */
import { type Answer, type Call, call, type Json } from "./http.ts";

export interface Session {
  readonly name: string;
  readonly role: "admin" | "read";
  readonly expiresAt: number;
}

export const DASHBOARD = { "X-Parley-Dashboard": "1" } as const;
const PATH = "/dashboard/session";

/** Signs in at `url` as its own pages do. */
export const signIn = (url: string, token: string, rest: Call = {}): Promise<Answer<Session>> =>
  call<Session>(url + PATH, {
    method: "POST",
    body: { token },
    ...rest,
    headers: { ...DASHBOARD, Origin: url, ...rest.headers },
  });

/** `name=value` of the cookie that an answer sets. */
export function cookieOf({ headers, status, text }: Answer<unknown>): string {
  const cookie = headers.get("set-cookie")?.split(";")[0];
  if (cookie === undefined) throw new Error(`no cookie: ${status} ${text}`);
  return cookie;
}

/** The cookie of a new session. */
export const sessionAt = async (url: string, token: string): Promise<string> => cookieOf(await signIn(url, token));

/** A call of the dashboard's own scripts. `url` is the whole address. */
export const withCookie = <T = Json>(url: string, cookie: string, rest: Call = {}): Promise<Answer<T>> =>
  call<T>(url, {
    ...rest,
    headers: { ...DASHBOARD, Origin: new URL(url).origin, Cookie: cookie, ...rest.headers },
  });

export const signOut = (url: string, cookie: string): Promise<Answer> =>
  withCookie(url + PATH, cookie, { method: "DELETE" });

export const sessionStatus = async (url: string, cookie: string): Promise<number> =>
  (await withCookie(url + PATH, cookie)).status;
