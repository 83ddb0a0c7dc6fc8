/** A room of a running service, and joins to it as pages make them. */
import { call } from "../../../support/http.ts";

export interface Joined {
  readonly participantSession: string;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  readonly connect: { readonly url: string; readonly token: string };
  readonly iceServers: readonly object[];
}

export interface JoinBody {
  readonly name: string;
  readonly token?: string;
  readonly resume?: string;
}

/** The application that a service makes at its first start. */
const APP = { "X-Parley-App": "demo" };

export class MeetingPlace {
  constructor(
    private readonly url: string,
    readonly port: number,
    private readonly appSecret: string,
    readonly roomName: string,
  ) {}

  async create(fields: object = {}): Promise<this> {
    const body = { roomName: this.roomName, privacy: "public", ...fields };
    const { status, text } = await call(`${this.url}/api/v1/room`, { body, bearer: this.appSecret, headers: APP });
    if (status !== 200) throw new Error(`POST room: ${status} ${text}`);
    return this;
  }

  async join(body: JoinBody): Promise<Joined> {
    const answer = await call<Joined>(`${this.url}/api/v1/room/${this.roomName}/join`, { body, headers: APP });
    if (answer.status !== 200) throw new Error(`join: ${answer.status} ${answer.text}`);
    return answer.body;
  }
}
