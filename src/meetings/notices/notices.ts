/**
 * What the service publishes in a room, as meetings.md says field by field. What a notice says has happened, so one that could not be published is no failure
 * of what has caused it. If it is about a state, what is true by then is published later (missed.ts). The calls resolve to whether it was published.
 */
import type { AppId } from "../../base/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { adminChannel, chatChannel, roomChannel, waitChannel } from "../../protocol/room-channels.ts";
import type { MeetingRecording } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { RenamedNotice } from "../contract/contract.ts";
import type { Floor } from "../contract/floor.ts";
import { WAIT_MAX_SEC } from "../contract/limits.ts";
import { publicRoomOf } from "../rules/rights.ts";
import type { MissedNotices, Subject } from "./missed.ts";

/** An application's id, and the id of one of its rooms. */
export interface RoomRef {
  readonly app: AppId;
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

/** Why a place in the lobby has ended without a host who declined it: it has expired, the room is archived, or it takes no requests any more. */
export type LobbyEnd = "time" | "room_not_found" | "token_required";

export type MutedKind = "audio" | "video" | "screen";

const LOBBY_END_TEXTS: Readonly<Record<LobbyEnd, string>> = {
  time: `No one has let you in for ${WAIT_MAX_SEC / 60} minutes. You can ask again.`,
  room_not_found: "The room is closed.",
  token_required: "You now need an access token to enter this room.",
};

export class Notices {
  constructor(
    private readonly floor: Pick<Floor, "publish">,
    private readonly missed: Pick<MissedNotices, "add">,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Its page obeys. Rejects if it was not published: nothing else comes of a mute. */
  muted({ app, room }: RoomRef, participantSession: string, kind: MutedKind): Promise<void> {
    return this.floor.publish(app, roomChannel(room), { notice: "muted", participantSession, kind });
  }

  /** Every page but that of `by` obeys, and a page that comes later does not. */
  allMuted({ app, room }: RoomRef, by: string, kind: MutedKind): Promise<void> {
    return this.floor.publish(app, roomChannel(room), { notice: "muted", kind, by });
  }

  /** Every page takes back its raised hand: hands are part of a person's own state. */
  handsLowered({ app, room }: RoomRef): Promise<void> {
    return this.floor.publish(app, roomChannel(room), { notice: "handsLowered" });
  }

  renamed(room: RoomRef, participantSession: string, name: string): Promise<boolean> {
    const notice: RenamedNotice = { notice: "renamed", participantSession, name };
    return this.inRoom(room, { ...notice });
  }

  removed(room: RoomRef, participantSession: string): Promise<boolean> {
    return this.inRoom(room, { notice: "removed", participantSession, inSec: 0 });
  }

  /** Without a participantSession it is for everyone. */
  ending(room: RoomRef, inSec: number, participantSession?: string): Promise<boolean> {
    return this.inRoom(room, { notice: "ending", ...(participantSession && { participantSession }), inSec });
  }

  /** The end that was announced does not come: something happens in the meeting again, or the room's times have changed. */
  continues(room: RoomRef, participantSession?: string): Promise<boolean> {
    return this.inRoom(room, { notice: "continues", ...(participantSession && { participantSession }) });
  }

  locked(room: RoomRef, on: boolean): Promise<boolean> {
    return this.inRoom(room, { notice: "locked", on }, "locked");
  }

  /** `by` is who has stopped it: while it is on, the state says who has started it. */
  recording(room: RoomRef, state: MeetingRecording | null, by: string): Promise<boolean> {
    const on = { by: state?.by, since: state && Math.floor(state.since / 1000) };
    return this.inRoom(room, { notice: "recording", on: state !== null, ...(state ? on : { by }) }, "recording");
  }

  flags(row: RoomRow): Promise<boolean> {
    return this.inRoom(refOf(row), { notice: "flags", room: publicRoomOf(row) }, "flags");
  }

  waiting(room: RoomRef, queue: readonly Queued[]): Promise<boolean> {
    return this.publish(room, adminChannel(room.room), { notice: "waiting", queue }, "waiting");
  }

  admitted(room: RoomRef, waitId: string): Promise<boolean> {
    return this.publish(room, waitChannel(room.room, waitId), { notice: "admitted" }, "answer", waitId);
  }

  /** Why a place has ended; without a reason a host has declined, and `retryAfterSec` says when one may ask again. */
  declined(
    room: RoomRef,
    waitId: string,
    why: { readonly reason: LobbyEnd } | { readonly retryAfterSec: number },
  ): Promise<boolean> {
    const more = "reason" in why ? { text: LOBBY_END_TEXTS[why.reason] } : {};
    const data = { notice: "declined", ...why, ...more };
    return this.publish(room, waitChannel(room.room, waitId), data, "answer", waitId);
  }

  /** To a person who waits: whether a host is inside, and nothing else about the meeting. */
  hosts(room: RoomRef, waitId: string, inside: boolean): Promise<boolean> {
    return this.publish(room, waitChannel(room.room, waitId), { notice: "hosts", inside }, "hosts");
  }

  /** A line of the chat from the application's server. Rejects if it was not kept: it is what the caller asked for. */
  line({ app, room }: RoomRef, text: string): Promise<void> {
    return this.floor.publish(app, chatChannel(room), { text, server: true });
  }

  private inRoom(room: RoomRef, data: JsonObject, subject?: Subject): Promise<boolean> {
    return this.publish(room, roomChannel(room.room), data, subject);
  }

  private async publish(
    { app, room }: RoomRef,
    channel: string,
    data: JsonObject,
    subject: Subject | undefined,
    waitId?: string,
  ): Promise<boolean> {
    try {
      await this.floor.publish(app, channel, data);
      return true;
    } catch (error) {
      if (subject) this.missed.add({ room: { app, room }, subject, waitId });
      this.failed(error);
      return false;
    }
  }
}
