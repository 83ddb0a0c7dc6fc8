/**
 * What receivers get of an event as `data`, without `seq`: the text of a JSON object below DATA_MAX_BYTES. Values that clients have sent are passed on as
 * they are written, because reading them would change numbers that are too long for this language.
 */
import type { AppId } from "../../base/ids.ts";
import type { RecordingRow } from "../../store/contract/recordings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { WebhookFact } from "../../store/contract/webhooks.ts";
import { DATA_MAX_BYTES } from "../limits.ts";

export interface AppName {
  readonly id: AppId;
  readonly name: string;
}

/** How the APIs show what an application has. */
export interface Records {
  readonly room: (row: RoomRow) => object;
  readonly recording: (row: RecordingRow) => object;
}

/** JSON that is written already. */
class Raw {
  constructor(readonly text: string) {}
}
type Fields = Readonly<Record<string, unknown>>;

export function dataOf(fact: WebhookFact, app: AppName, records: Records): string {
  const common = { app: app.id, appName: app.name };
  const whole = written({ ...common, ...fieldsOf(fact, records) });
  return Buffer.byteLength(whole) <= DATA_MAX_BYTES ? whole : written({ ...common, ...idsOf(fact), truncated: true });
}

const written = (fields: Fields): string => {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${valueText(value)}`);
  return `{${parts.join(",")}}`;
};

const valueText = (value: unknown): string => {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(valueText).join(",")}]`;
  return JSON.stringify(value);
};

const raw = (json: string | null): Raw | null => (json === null ? null : new Raw(json));
const seconds = (from: number, to: number): number => Math.max(0, Math.round((to - from) / 1000));
const iso = (ms: number): string => new Date(ms).toISOString();

function fieldsOf(fact: WebhookFact, records: Records): Fields {
  switch (fact.type) {
    case "room.created":
    case "room.updated":
    case "room.archived":
      return { ...records.room(fact.room), archived: fact.type === "room.archived" };
    case "meeting.started":
    case "meeting.ended": {
      const { ended, began } = fact.meeting;
      return { ...idsOf(fact), ...(ended !== null && { durationSec: seconds(began, ended) }) };
    }
    case "participant.joined":
    case "participant.left": {
      const { name, externalUserId, isAdmin, began, ended } = fact.stay;
      const known = externalUserId === null ? {} : { externalUserId };
      return { ...idsOf(fact), name, ...known, isAdmin, ...(ended !== null && { durationSec: seconds(began, ended) }) };
    }
    case "participant.waiting":
      return { ...idsOf(fact), name: fact.waiting.name };
    case "recording.ready":
    case "recording.deleted":
      return { ...records.recording(fact.recording) };
    case "key.created":
    case "key.rotated":
    case "key.revoked": {
      const { type, label, channelPatterns, actions } = fact.key;
      return { ...idsOf(fact), type, label, channelPatterns, actions };
    }
    case "quota.reached":
      return idsOf(fact);
    case "connection.opened":
      return { ...idsOf(fact), peerMetadata: raw(fact.metadataJson) };
    case "connection.closed": {
      const { opened, closed = opened, code, reason } = fact;
      const why = { code: code ?? null, reason: reason ?? null };
      return { ...idsOf(fact), peerMetadata: raw(fact.metadataJson), ...why, durationSec: seconds(opened, closed) };
    }
    case "channel.occupied":
    case "channel.vacated":
      return idsOf(fact);
    case "peer.joined":
    case "peer.left":
      return { ...idsOf(fact), metadata: raw(fact.metadataJson) };
    case "message.published":
      return { ...idsOf(fact), messages: fact.messages.map((one) => new Raw(messageText(one))) };
    case "webhook.test":
      return { message: "This is a test event, to check that the endpoint receives events." };
  }
}

type PublishedMessage = Extract<WebhookFact, { type: "message.published" }>["messages"][number];

const messageText = ({ offset, time, from, metadataJson, dataJson }: PublishedMessage): string =>
  written({ offset, timestamp: iso(time), from, metadata: raw(metadataJson) ?? undefined, data: new Raw(dataJson) });

/** What is left of an event that is too large: enough to ask for the rest. */
function idsOf(fact: WebhookFact): Fields {
  switch (fact.type) {
    case "room.created":
    case "room.updated":
    case "room.archived":
      return { _id: fact.room.id, roomName: fact.room.name };
    case "meeting.started":
    case "meeting.ended":
      return { room: fact.meeting.room, roomName: fact.meeting.roomName, meetingSession: fact.meeting.id };
    case "participant.joined":
    case "participant.left": {
      const { room, meeting: meetingSession, id: participantSession } = fact.stay;
      return { room, roomName: fact.roomName, meetingSession, participantSession };
    }
    case "participant.waiting":
      return { room: fact.waiting.room, roomName: fact.roomName };
    case "recording.ready":
    case "recording.deleted":
      return { _id: fact.recording.id, room: fact.recording.room };
    case "key.created":
    case "key.rotated":
    case "key.revoked":
      return { keyId: fact.key.id };
    case "quota.reached":
      return { kind: fact.kind, limit: fact.limit, period: iso(fact.period * 1000) };
    case "connection.opened":
    case "connection.closed":
      return { peerId: fact.peerId, connectionId: fact.connectionId, keyId: fact.keyId };
    case "channel.occupied":
    case "channel.vacated":
      return { channel: fact.channel };
    case "peer.joined":
    case "peer.left":
      return { channel: fact.channel, peerId: fact.peerId };
    case "message.published": {
      const { channel, epoch, gap, messages } = fact;
      const offsets = { firstOffset: messages[0]?.offset, lastOffset: messages.at(-1)?.offset };
      return { channel, epoch, ...(gap && { gap }), ...offsets, count: messages.length };
    }
    case "webhook.test":
      return {};
  }
}

/** The channel that an event is of; undefined: it is of none. */
export const channelOf = (fact: WebhookFact): string | undefined => ("channel" in fact ? fact.channel : undefined);

/** Events that may be dropped where too many wait: those of connections, channels and peers. What they add up to is read from the live lists. */
export const isLossy = (fact: WebhookFact): boolean => /^(?:connection|channel|peer)\./.test(fact.type);
