/** The page of a participant that records, as raw calls. */
import { newRoomApp, type Person, Room } from "../../conformance/raw/support/rooms.ts";
import { fresh } from "../../conformance/raw/support/world.ts";
import type { Application, AppRefusal } from "../../support/application.ts";
import type { Answer, Json } from "../../support/http.ts";
import type { Server } from "../../support/parley.ts";
import { Backend, type Offset, type Recording } from "../../support/recordings.ts";
import { until } from "../../support/wait.ts";

export interface Begun extends Json {
  readonly _id: string;
  readonly uploadUrl: string;
}

export type Listed = Recording & { readonly mended?: boolean };

let addresses = 0;
const fromElsewhere = (): Readonly<Record<string, string>> => ({
  "X-Forwarded-For": `10.6.${(++addresses >> 8) & 255}.${addresses & 255}`,
});

/** A room in which every meeting is recorded. */
export async function recordedRoom(server: Pick<Server, "url" | "admin">, app?: Application): Promise<Room> {
  const of = app ?? (await newRoomApp(server));
  const name = fresh("room");
  const { _id } = await of.must<{ _id: string }>("POST", "/room", { roomName: name, recordRoom: true });
  return new Room(of, name, _id);
}

export class Recorder {
  readonly backend: Backend;

  private constructor(
    readonly room: Room,
    readonly person: Person,
  ) {
    this.backend = new Backend(room.app);
  }

  static async in(room: Room, join: Json = {}): Promise<Recorder> {
    return new Recorder(room, await room.inside(join));
  }

  call<T = Json>(
    method: "POST" | "DELETE",
    body: unknown,
    { bearer = this.person.token, headers = fromElsewhere() } = {},
  ): Promise<Answer<T & AppRefusal>> {
    return this.room.app.call<T>(method, `/room/${this.room.name}/recording`, body, { bearer, headers });
  }

  complete(id: string, total: number, bearer = this.person.token): Promise<Answer<Json & AppRefusal>> {
    return this.room.app.call("POST", `/recording/${id}/complete`, { total }, { bearer, headers: fromElsewhere() });
  }

  async begin(source = "camera"): Promise<Begun> {
    const { status, text, body } = await this.call<Begun>("POST", { source });
    if (status !== 200) throw new Error(`begin: ${status} ${text}`);
    return body;
  }

  async end(_id: string): Promise<void> {
    const { status, text } = await this.call("DELETE", { _id });
    if (status !== 200) throw new Error(`end: ${status} ${text}`);
  }

  put({ uploadUrl }: Begun, body: unknown, range?: string): Promise<Answer<Offset>> {
    return this.backend.put(uploadUrl, body, range === undefined ? {} : { "Content-Range": range });
  }

  /** A part of which it is not known yet whether it is the last one. */
  part(run: Begun, at: number, bytes: Uint8Array): Promise<Answer<Offset>> {
    return this.put(run, bytes, `bytes ${at}-${at + bytes.length - 1}/*`);
  }

  async held(run: Begun): Promise<number> {
    return (await this.put(run, undefined, "bytes */*")).body.offset;
  }

  /** Uploads a file whole and says that it is. */
  async send(bytes: Uint8Array): Promise<Begun> {
    const run = await this.begin();
    const { status, text } = await this.part(run, 0, bytes);
    if (status !== 200) throw new Error(`PUT: ${status} ${text}`);
    await this.end(run._id);
    return run;
  }

  async listed({ _id }: Begun, withinMs = 60_000): Promise<Listed> {
    let found: Listed | undefined;
    await until(
      `${_id} is listed`,
      async () => {
        const { status, body } = await this.room.app.call<Listed>("GET", `/recording/${_id}`);
        if (status === 200) found = body;
        return found !== undefined;
      },
      withinMs,
    );
    return found as Listed;
  }

  async bytes({ _id }: Begun): Promise<Uint8Array> {
    return (await this.backend.fetch(await this.backend.link(_id, "download"))).bytes();
  }
}

export const codeOf = ({ status, body }: Answer<AppRefusal>): [number, string] => [status, body.error?.code];
