/**
 * What the service publishes in a room, as meetings.md says field by field. A notice that could not be published is logged and not repeated: what it
 * says has happened, and pages see it in other ways too.
 */
import type { JsonObject } from "../../protocol/json.ts";
import { adminChannel, chatChannel, roomChannel, waitChannel } from "../../protocol/room-channels.ts";
import type { MeetingRecording } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { RenamedNotice } from "../contract/contract.ts";
import type { Floor } from "../contract/floor.ts";
import { WAIT_MAX_SEC } from "../contract/limits.ts";
import { publicRoomOf } from "../rules/rights.ts";

/** An application's id, and the id of one of its rooms. */
export interface RoomRef {
  readonly app: string;
  readonly room: string;
}

export const refOf = ({ app, id }: RoomRow): RoomRef => ({ app, room: id });

/** A person in the lobby, as admins see it. */
export interface Queued {
  readonly waitId: string;
  readonly name: string;
  /** Unix ms. */
  readonly since: number;
}

/** Why a place in the lobby has ended without a host who declined it: its time is over, the room is archived, or it takes no requests any more. */
export type LobbyEnd = "time" | "room_not_found" | "token_required";

export type MutedKind = "audio" | "video" | "screen";

const LOBBY_END_TEXTS: Readonly<Record<LobbyEnd, string>> = {
  time: `No one has let you in for ${WAIT_MAX_SEC / 60} minutes. You can make another request.`,
  room_not_found: "The room is closed.",
  token_required: "This room can be entered only with an access token now.",
};

export class Notices {
  constructor(
    private readonly floor: Pick<Floor, "publish">,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Its page obeys. */
  muted(room: RoomRef, participantSession: string, kind: MutedKind): Promise<void> {
    return this.inRoom(room, { notice: "muted", participantSession, kind });
  }

  renamed(room: RoomRef, participantSession: string, name: string): Promise<void> {
    const notice: RenamedNotice = { notice: "renamed", participantSession, name };
    return this.inRoom(room, { ...notice });
  }

  removed(room: RoomRef, participantSession: string): Promise<void> {
    return this.inRoom(room, { notice: "removed", participantSession, inSec: 0 });
  }

  /** Without a participantSession it is for everyone. */
  ending(room: RoomRef, inSec: number, participantSession?: string): Promise<void> {
    return this.inRoom(room, { notice: "ending", ...(participantSession && { participantSession }), inSec });
  }

  /** The end that was announced does not come: something happens in the meeting again, or the room's times have changed. */
  continues(room: RoomRef, participantSession?: string): Promise<void> {
    return this.inRoom(room, { notice: "continues", ...(participantSession && { participantSession }) });
  }

  locked(room: RoomRef, on: boolean): Promise<void> {
    return this.inRoom(room, { notice: "locked", on });
  }

  /** `by` is who has stopped it: while it is on, the state says who has started it. */
  recording(room: RoomRef, state: MeetingRecording | null, by: string): Promise<void> {
    const on = { by: state?.by, since: state && Math.floor(state.since / 1000) };
    return this.inRoom(room, { notice: "recording", on: state !== null, ...(state ? on : { by }) });
  }

  flags(row: RoomRow): Promise<void> {
    return this.inRoom(refOf(row), { notice: "flags", room: publicRoomOf(row) });
  }

  waiting({ app, room }: RoomRef, queue: readonly Queued[]): Promise<void> {
    return this.publish(app, adminChannel(room), { notice: "waiting", queue });
  }

  admitted({ app, room }: RoomRef, waitId: string): Promise<void> {
    return this.publish(app, waitChannel(room, waitId), { notice: "admitted" });
  }

  /** Why a place has ended; without a reason a host has declined, and `retryAfterSec` says when one may ask again. */
  declined(
    { app, room }: RoomRef,
    waitId: string,
    why: { readonly reason: LobbyEnd } | { readonly retryAfterSec: number },
  ): Promise<void> {
    const more = "reason" in why ? { text: LOBBY_END_TEXTS[why.reason] } : {};
    return this.publish(app, waitChannel(room, waitId), { notice: "declined", ...why, ...more });
  }

  /** To a person who waits: whether a host is inside, and nothing else about the meeting. */
  hosts({ app, room }: RoomRef, waitId: string, inside: boolean): Promise<void> {
    return this.publish(app, waitChannel(room, waitId), { notice: "hosts", inside });
  }

  /** A line of the chat from the application's server. Rejects if it was not kept: it is what the caller asked for. */
  line({ app, room }: RoomRef, text: string): Promise<void> {
    return this.floor.publish(app, chatChannel(room), { text, server: true });
  }

  private inRoom({ app, room }: RoomRef, data: JsonObject): Promise<void> {
    return this.publish(app, roomChannel(room), data);
  }

  private async publish(app: string, channel: string, data: JsonObject): Promise<void> {
    try {
      await this.floor.publish(app, channel, data);
    } catch (error) {
      this.failed(error);
    }
  }
}
