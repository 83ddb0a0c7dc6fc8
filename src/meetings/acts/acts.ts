/** What participants of a meeting do, mostly admins, each with the connect token of its own stay, and what the application's server does by REST. */
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import type { ActRequest } from "../contract/contract.ts";
import type { Lobby } from "../entrance/lobby.ts";
import { type MutedKind, type Notices, refOf } from "../notices/notices.ts";
import { flagOf } from "../rules/rights.ts";
import type { Exits } from "../stays/exits.ts";
import type { StayTokens } from "../stays/tokens.ts";
import type { Naming } from "./naming.ts";
import type { Recording } from "./recording.ts";

interface ActParts {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly stayTokens: StayTokens;
  readonly notices: Notices;
  readonly exits: Exits;
  readonly lobby: Pick<Lobby, "decide">;
  readonly naming: Naming;
  readonly recording: Recording;
  readonly nowMs: () => number;
}

/** An act of a stay. `kind` is of `mute` and `muteAll`, and the microphone if it is absent. */
export interface StayAct extends ActRequest {
  readonly kind?: MutedKind | undefined;
}

export class Acts {
  constructor(private readonly parts: ActParts) {}

  /** `token` is the connect token of the stay that acts. */
  async act(app: AppId, roomName: string, token: string, request: StayAct): Promise<void> {
    const { store, notices, lobby, naming, recording, stayTokens } = this.parts;
    const { room, stay, claims } = await stayTokens.inside(app, roomName, token);
    const isAdmin = stay.isAdmin && claims.isAdmin;
    if (request.do === "record" || request.do === "stopRecord")
      return recording.act(room, stay, isAdmin, request.do === "record");
    if (request.do === "rename") {
      const { participantSession = stay.id } = request;
      const other = participantSession === stay.id ? stay : await this.inside(room, participantSession);
      return naming.rename({ stay, claims, isAdmin }, other, given(request, "name"));
    }
    if (!isAdmin) throw new Problem("action_not_permitted", "Only admins of the meeting can do this.");
    const ref = refOf(room);
    switch (request.do) {
      case "admit":
      case "decline":
        return lobby.decide(ref, given(request, "waitId"), request.do === "admit" ? "admitted" : "declined");
      case "mute": {
        const { id } = await this.inside(room, given(request, "participantSession"));
        return notices.muted(ref, id, request.kind ?? "audio");
      }
      case "muteAll":
        return notices.allMuted(ref, stay.id, request.kind ?? "audio");
      case "lowerHands":
        return notices.handsLowered(ref);
      case "remove": {
        const other = await this.known(room, given(request, "participantSession"));
        if (other.id === stay.id || (other.externalUserId !== null && other.externalUserId === stay.externalUserId))
          throw refusal("participantSession", "you cannot remove yourself; leave the meeting instead");
        return this.removeOne(other);
      }
      case "end":
        await this.endMeeting(app, stay.meeting);
        return;
      case "lock":
      case "unlock":
        await store.lock(stay.meeting, request.do === "lock");
        await notices.locked(ref, request.do === "lock");
        return;
    }
  }

  /** Ends the meeting of a room, if there is one. Returns how many were inside. */
  async end(app: AppId, roomName: string): Promise<number> {
    const room = await this.room(app, roomName);
    const meeting = await this.parts.store.current(app, room.id);
    return meeting ? this.parts.exits.endMeeting(meeting) : 0;
  }

  async remove(app: AppId, roomName: string, participantSession: string): Promise<void> {
    const room = await this.room(app, roomName);
    await this.removeOne(await this.known(room, participantSession));
  }

  private async removeOne(stay: StayRow): Promise<void> {
    if (!(await this.parts.exits.remove(stay))) throw new Problem("participant_not_found");
  }

  /** The recording of the meeting begins or ends. false: it was so already. */
  async record(app: AppId, roomName: string, on: boolean, by?: string): Promise<boolean> {
    return this.parts.recording.setByServer(await this.room(app, roomName), on, by);
  }

  /** A line in the chat. */
  async say(app: AppId, roomName: string, text: string): Promise<void> {
    const { store, notices } = this.parts;
    const room = await this.room(app, roomName);
    if (flagOf(room, "newChatForMeetingSession") && !(await store.current(app, room.id)))
      throw new Problem("meeting_not_found", "The room is empty, and each meeting starts with an empty chat.");
    await notices.line(refOf(room), text);
  }

  private async endMeeting(app: AppId, id: string): Promise<void> {
    const meeting = await this.parts.store.meeting(app, id);
    if (meeting) await this.parts.exits.endMeeting(meeting);
  }

  private async room(app: AppId, roomName: string): Promise<RoomRow> {
    const room = await this.parts.rooms.room(app, roomName, this.parts.nowMs());
    if (!room) throw new Problem("room_not_found");
    return room;
  }

  private async inside(room: RoomRow, participantSession: string): Promise<StayRow> {
    const stay = await this.known(room, participantSession);
    if (stay.ended !== null) throw new Problem("participant_not_found");
    return stay;
  }

  /** It is or was in this room. */
  private async known({ id }: RoomRow, participantSession: string): Promise<StayRow> {
    const stay = await this.parts.store.stay(participantSession);
    if (stay?.room !== id) throw new Problem("participant_not_found");
    return stay;
  }
}

function given(request: StayAct, field: "waitId" | "participantSession" | "name"): string {
  const value = request[field];
  if (value === undefined) throw refusal(field, `is missing; ${request.do} needs it`);
  return value;
}

const refusal = (field: string, message: string): Problem =>
  new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
