/** The fields of a room as people edit them: in groups, with a label and what it means. */
import type { RoomFieldName } from "../../../src/protocol/room-fields.ts";

interface RoomGroup {
  readonly title: "Access" | "Schedule" | "Media" | "Recording" | "After";
  readonly fields: readonly RoomFieldName[];
  /** Fields that few rooms need, folded under this title. */
  readonly more?: { readonly title: string; readonly fields: readonly RoomFieldName[] };
}

export const ROOM_GROUPS: readonly RoomGroup[] = [
  {
    title: "Access",
    fields: ["privacy", "enableRequestToJoin", "maxParticipants"],
    more: { title: "Language and joining", fields: ["lang", "showInviteBox", "autoJoin"] },
  },
  {
    title: "Schedule",
    fields: ["notBeforeUnixSec", "expireUnixSec", "ejectAtRoomExp"],
    more: { title: "Time limits", fields: ["ejectAfterElapsedTimeInSec", "endMeetingAfterNoActivityInSec"] },
  },
  {
    title: "Media",
    fields: ["audioOnlyRoom", "ownerOnlyBroadcast", "enableScreenSharing", "enableChat", "joinAudioOn", "joinVideoOn"],
  },
  { title: "Recording", fields: ["recordRoom", "enableRecording"] },
  {
    title: "After",
    fields: ["newChatForMeetingSession", "deleteOnExp"],
    more: {
      title: "Tell your backend",
      fields: ["meetingStartedWebhook", "meetingJoinWebhook", "meetingLeftWebhook", "meetingEndedWebhook"],
    },
  },
];

type Label = readonly [label: string, help?: string];

export const ROOM_LABELS: Readonly<Record<RoomFieldName, Label>> = {
  privacy: ["Who can join"],
  enableRequestToJoin: ["Let people ask to join"],
  maxParticipants: ["People at a time"],
  lang: ["Language"],
  showInviteBox: ["Show the link inside", "People can copy it to invite others."],
  autoJoin: ["Skip the preview", "People join at once, muted and with the camera off."],
  notBeforeUnixSec: ["Opens", "No one can join before this. Leave it empty to open now."],
  expireUnixSec: ["Closes", "No one can join after this. Leave it empty to stay open."],
  ejectAtRoomExp: ["End the meeting when the room closes", "Otherwise people who are inside can stay."],
  ejectAfterElapsedTimeInSec: ["Time per person", "Each person is removed this long after joining."],
  endMeetingAfterNoActivityInSec: [
    "End idle meetings after",
    "Idle: no one shares a camera, a microphone or a screen.",
  ],
  audioOnlyRoom: ["No cameras or screens", "People join with microphones only."],
  ownerOnlyBroadcast: ["Only hosts share", "Everyone else watches and listens."],
  enableScreenSharing: ["Screen sharing"],
  enableChat: ["Chat"],
  joinAudioOn: ["Microphone on when joining"],
  joinVideoOn: ["Camera on when joining"],
  recordRoom: [
    "Record from the start",
    "Every meeting, from its first second. People are asked to agree before they join.",
  ],
  enableRecording: ["Hosts can record", "They start and stop it inside. While no host is inside, anyone can."],
  newChatForMeetingSession: ["Empty the chat for each meeting", "Otherwise messages stay for the next one."],
  deleteOnExp: ["Delete the room when it closes", "Its meeting ends, too. Recordings stay."],
  meetingStartedWebhook: ["A meeting starts", "A URL that gets a signed request, here and below."],
  meetingJoinWebhook: ["Someone joins"],
  meetingLeftWebhook: ["Someone leaves"],
  meetingEndedWebhook: ["A meeting ends"],
};
