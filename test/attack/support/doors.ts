/** Every place that takes a credential, to be tried with something that is none. */
import type { Room } from "../../conformance/raw/support/rooms.ts";
import { type Answer, call } from "../../support/http.ts";

export interface DoorParts {
  readonly url: string;
  /** Private, and no one may ask to join. */
  readonly room: Room;
  /** An open upload. */
  readonly upload: string;
  readonly recording: string;
  /** When a link to that recording expires, as its query has it. */
  readonly expires: string;
}

/** Tries a value. */
export type Door = (value: string) => Promise<Answer>;

/** Whether an answer says that the value was taken. A connect that would be admitted is answered with 426, because it is none. */
export const isOpened = ({ status }: Answer): boolean => status < 400 || status >= 500 || status === 426;

let addresses = 0;
/** Each try comes from an address of its own: what refuses it is no rate. */
const fromElsewhere = (): Readonly<Record<string, string>> => ({
  "X-Forwarded-For": `10.7.${(++addresses >> 8) & 255}.${addresses & 255}`,
});

export function doorsOf({ url, room, upload, recording, expires }: DoorParts): Readonly<Record<string, Door>> {
  const own = (path: string, bearer?: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    call(url + path, { ...(bearer !== undefined && { bearer }), headers: { ...fromElsewhere(), ...headers } });
  const app = (method: string, path: string, bearer: string, body?: unknown): Promise<Answer> =>
    call(`${url}/api/v1${path}`, {
      method,
      headers: { Host: room.app.host, "Content-Type": "application/json", ...fromElsewhere() },
      ...(bearer !== "" && { bearer }),
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const join = (body: object): Promise<Answer> => app("POST", `/room/${room.name}/join`, "", body);
  const query = encodeURIComponent;
  return {
    "connect with a key": (value) => own(`/v1?key=${query(value)}`),
    "connect with a token": (value) => own(`/v1?token=${query(value)}`),
    "frames over HTTP": (value) =>
      call(`${url}/v1/events?session=${query(value)}&n=1`, { method: "POST", body: "{}", headers: fromElsewhere() }),
    "secret key": (value) => own("/v1/usage", value.includes(":") ? value : `${value}:${value}`),
    "control plane": (value) => own("/api/internal/v1/apps", value),
    "session of the dashboard": (value) =>
      own("/dashboard/session", undefined, { Cookie: `parley=${value}`, "X-Parley-Dashboard": "1" }),
    "application secret": (value) => app("GET", `/rooms?secretKey=${query(value)}`, ""),
    "join with a token": (value) => join({ token: value }),
    "join with a ticket, or an earlier token": (value) => join({ ticket: value, resume: value }),
    act: (value) => app("POST", `/room/${room.name}/act`, value, { do: "unlock" }),
    "recording of a stay": (value) => app("POST", `/room/${room.name}/recording`, value, { source: "camera" }),
    complete: (value) => app("POST", `/recording/${upload}/complete`, value, { total: 0 }),
    upload: (value) => app("PUT", `/upload/${upload}?proof=${query(value)}`, "", "x"),
    link: (value) => app("GET", `/file/${recording}/download?expires=${expires}&proof=${query(value)}`, ""),
    TURN: (value) => app("GET", `/turn/credentials?apiKey=${query(value)}`, ""),
  };
}

/** Fields whose values name something. */
const NAME = /(id|Id|Session|connection|pos|next|currEndId|fileName)$/;

/** Names in what others can read: by its field and length, one of each; none twice. */
export function namesIn(texts: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const known = new Set<string>();
  // Frames are texts inside JSON: their quotes are escaped.
  for (const text of texts)
    for (const [, field = "", value = ""] of text.matchAll(/(\w+)\\?":\\?"([\w.:-]{4,200})\\?"/g)) {
      const name = `${field} of ${value.length} characters`;
      if (!NAME.test(field) || names.has(name) || known.has(value)) continue;
      names.set(name, value);
      known.add(value);
    }
  return names;
}
