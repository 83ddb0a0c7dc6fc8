/** One event of each type as receivers get it: what docs/webhooks.md shows, made by the code that makes them. */
import { asAppId } from "../../../src/base/ids.ts";
import { recordingFields } from "../../../src/http/shared/recording-schemas.ts";
import { recordOf } from "../../../src/rooms/rooms.ts";
import type { RecordingRow } from "../../../src/store/contract/recordings.ts";
import type { RoomRow } from "../../../src/store/contract/rooms.ts";
import type { WebhookFact } from "../../../src/store/contract/webhooks.ts";
import { dataOf } from "../../../src/webhooks/events/data.ts";
import { bodyOf } from "../../../src/webhooks/signing/request.ts";

const APP = asAppId("01a0b5c2f0a94d1e8f3a7c55");
const ROOM = "01a0b5c2f1b37e0d9a2c4f66";
const MEETING = "01a0b5c2f2c48f1eab3d5077";
const STAY = "01a0b5c2f3d5902fbc4e6188";
const AT = Date.UTC(2027, 0, 15, 9, 30);

const room: RoomRow = {
  id: ROOM,
  app: APP,
  name: "standup",
  fields: { privacy: "private", maxParticipants: 8 },
  created: AT,
  archiveAt: null,
  version: 1,
};
const meeting = {
  id: MEETING,
  app: APP,
  room: ROOM,
  roomName: "standup",
  began: AT,
  ended: null,
  isLocked: false,
  recording: null,
  recordingStopped: null,
} as const;
const stay = {
  id: STAY,
  meeting: MEETING,
  app: APP,
  room: ROOM,
  name: "Ann",
  externalUserId: "user-17",
  isAdmin: true,
  isGuest: false,
  accessToken: null,
  ejectAt: null,
  node: null,
  seen: AT,
  began: AT,
  ended: null,
  why: null,
} as const;
const recording = {
  id: "01a0b5c2f4e6a130cd5f7299",
  app: APP,
  room: ROOM,
  participantSession: STAY,
  meetingSession: MEETING,
  participantUsername: "Ann",
  fileName: "3f6c0f8e-6d0b-4c7f-9a52-1c0e7d3b9a41.webm",
  sizeInBytes: 1_048_576,
  type: "video",
  startTime: AT / 1000,
  endTime: AT / 1000 + 600,
  format: "webm",
  mended: true,
  seq: 1,
  file: null,
} as unknown as RecordingRow;
const key = {
  id: "sk_id_0123456789abcdef0123456789abcdef",
  type: "secret",
  label: "backend",
  channelPatterns: ["chat/*"],
  actions: ["publish", "subscribe"],
} as const;
const connection = {
  peerId: "ann",
  connectionId: "c8f1e2a4-0b5d-4f6e-8a7c-9d3b2e1f0a6c",
  keyId: key.id,
  metadataJson: '{"name":"Ann"}',
  opened: AT,
} as const;
const member = { channel: "chat/1", peerId: "ann", metadataJson: '{"name":"Ann"}' } as const;
const message = { offset: 42, time: AT, from: "ann", metadataJson: '{"name":"Ann"}', dataJson: '{"text":"hello"}' };

const FACTS: readonly WebhookFact[] = [
  { type: "connection.opened", ...connection },
  { type: "connection.closed", ...connection, closed: AT + 90_000, code: 1000, reason: "" },
  { type: "channel.occupied", channel: "chat/1" },
  { type: "channel.vacated", channel: "chat/1" },
  { type: "peer.joined", ...member },
  { type: "peer.left", ...member },
  { type: "message.published", channel: "chat/1", epoch: "k3v9", gap: false, messages: [message] },
  { type: "room.created", room },
  { type: "room.updated", room: { ...room, version: 2 } },
  { type: "room.archived", room },
  { type: "meeting.started", meeting },
  { type: "meeting.ended", meeting: { ...meeting, ended: AT + 600_000 } },
  { type: "participant.joined", stay, roomName: "standup" },
  { type: "participant.left", stay: { ...stay, ended: AT + 540_000, why: "left" }, roomName: "standup" },
  { type: "participant.waiting", waiting: { room: ROOM, name: "Eve", since: AT }, roomName: "standup" },
  { type: "recording.ready", recording },
  { type: "recording.deleted", recording },
  { type: "key.created", key },
  { type: "key.rotated", key },
  { type: "key.revoked", key },
  { type: "quota.reached", kind: "messages", limit: 1_000_000, period: Date.UTC(2027, 0, 1) / 1000 },
  { type: "webhook.test" },
];

const records = { room: recordOf, recording: recordingFields };

/** What an event has beyond the fields that all have. */
export const ownFields = (body: string): object => {
  const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
  const { app: _app, appName: _appName, seq: _seq, ...own } = data;
  return { type, data: own };
};

/** The body of each, in the order of the page. */
export const samples = (): { type: string; body: string }[] =>
  FACTS.map((fact, at) => ({
    type: fact.type,
    body: bodyOf({
      webhook: "01a0b5c2f5f7b241de608300",
      seq: at + 1,
      type: fact.type,
      happened: AT,
      data: dataOf(fact, { id: APP, name: "demo" }, records),
    }),
  }));
