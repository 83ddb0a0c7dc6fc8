/** The secrets of the URL fields of a room, for its application and its operators. */
import type { AppId } from "../../base/ids.ts";
import type { Infer } from "../../base/lazily.ts";
import { type Rooms, valuesOf } from "../../rooms/rooms.ts";
import type { WebhookEndpoints } from "../../webhooks/endpoints/endpoints.ts";
import { ROOM_URL_FIELDS } from "../../webhooks/endpoints/room-endpoints.ts";
import type { roomSecrets } from "./webhook-schemas.ts";

/** Throws `room_not_found`. */
export type RoomWebhookSecrets = (app: AppId, roomName: string) => Promise<Infer<typeof roomSecrets>>;

type RoomUrlEvent = keyof typeof ROOM_URL_FIELDS;

export const makeRoomWebhookSecrets =
  (rooms: Pick<Rooms, "row">, endpoints: Pick<WebhookEndpoints, "roomSecret">): RoomWebhookSecrets =>
  async (app, roomName) => {
    const values = valuesOf(await rooms.row(app, roomName));
    const data = (Object.keys(ROOM_URL_FIELDS) as RoomUrlEvent[]).flatMap((event) => {
      const field = ROOM_URL_FIELDS[event];
      const url = values[field];
      if (url === undefined) return [];
      const { id, secret } = endpoints.roomSecret(app, url);
      return [{ field, event, url, secret, _id: id }];
    });
    return { data };
  };
