/** What the service publishes in a room. Anything else that claims to be a notice is left out. */
import type { Message } from "../../../client/src/events/message.ts";
import { SERVICE } from "../../../src/protocol/room-channels.ts";
import { factOf } from "./consent.ts";
import type { Declined, RoomNotice, Waiting } from "./contract.ts";

type Data = Readonly<Record<string, unknown>>;

/** The people that the service keeps in a lobby are fewer. */
const WAITING_MAX = 100;

/** The data of a message of the service itself. */
function dataOf({ from, data }: Message): Data | undefined {
  return from === SERVICE && typeof data === "object" && data !== null ? (data as Data) : undefined;
}

const isText = (value: unknown): value is string => typeof value === "string";

export function noticeOf(message: Message): RoomNotice | undefined {
  const data = dataOf(message);
  const { notice, participantSession, kind, by, name, inSec, on, room } = data ?? {};
  if (notice === "muted" && isText(kind)) {
    if (isText(participantSession)) return { notice, participantSession, kind };
    return { notice, kind, ...(isText(by) && { by }) };
  }
  if (notice === "handsLowered") return { notice };
  if (notice === "renamed" && isText(participantSession) && isText(name)) return { notice, participantSession, name };
  if (notice === "removed" || notice === "ending")
    return { notice, ...(isText(participantSession) && { participantSession }), inSec: Number(inSec) || 0 };
  if (notice === "continues") return { notice, ...(isText(participantSession) && { participantSession }) };
  if (notice === "locked") return { notice, on: on === true };
  if (notice === "recording") return { notice, on: on === true, fact: factOf(data) ?? { by: "", since: 0 } };
  if (notice === "flags" && typeof room === "object" && room !== null) return { notice, room: room as Data };
  return undefined;
}

/** The ICE servers in the metadata that the service gives to this connection alone; undefined: it has none. */
export function iceServersIn(metadata: unknown): readonly RTCIceServer[] | undefined {
  const { iceServers } = (typeof metadata === "object" && metadata !== null ? metadata : {}) as Data;
  return Array.isArray(iceServers) ? (iceServers as RTCIceServer[]) : undefined;
}

/** Who waits in the lobby. */
export function queueOf(message: Message): readonly Waiting[] | undefined {
  const { notice, queue } = dataOf(message) ?? {};
  if (notice !== "waiting" || !Array.isArray(queue)) return undefined;
  return queue.slice(0, WAITING_MAX).flatMap((one: Partial<Waiting> | null) => {
    const { waitId, name, since } = one ?? {};
    return isText(waitId) && isText(name) ? [{ waitId, name, since: Number(since) || 0 }] : [];
  });
}

export type LobbyNotice =
  | { readonly is: "admitted" }
  | ({ readonly is: "declined" } & Declined)
  | { readonly is: "hosts"; readonly inside: boolean };

export function lobbyNoticeOf(message: Message): LobbyNotice | undefined {
  const { notice, text, reason, inside, retryAfterSec } = dataOf(message) ?? {};
  if (notice === "admitted") return { is: notice };
  if (notice === "hosts") return { is: notice, inside: inside === true };
  if (notice !== "declined") return undefined;
  return {
    is: notice,
    ...(isText(text) && { text }),
    ...(isText(reason) && { reason }),
    ...(typeof retryAfterSec === "number" && { retryAfterSec }),
  };
}
