/** What one may send, and what of others is shown. The service decides it too, as far as it can see it. */
import type { Kind } from "../call/contract.ts";
import type { Person } from "../room/contract.ts";
import type { May, RoomFlags } from "./api.ts";

type Sender = { readonly isAdmin: boolean };

/** What the room lets a person send, whatever its token says. */
export function roomAllows(room: RoomFlags, { isAdmin }: Sender, kind: Kind): boolean {
  if (room.ownerOnlyBroadcast && !isAdmin) return false;
  if (kind === "audio") return true;
  if (room.audioOnlyRoom) return false;
  return kind === "video" || room.enableScreenSharing;
}

/** Kinds that the room allows and the person's token does not. */
export const disabledByToken = (may: May, room: RoomFlags, person: Sender): readonly Kind[] =>
  (["audio", "video", "screen"] as const).filter((kind) => roomAllows(room, person, kind) && !may[kind]);

/** Start and stop the recording, if the room allows it: admins, and all others while no admin is inside. */
export const mayRecord = (room: RoomFlags, me: Sender, people: readonly Person[]): boolean =>
  room.enableRecording && (me.isAdmin || !people.some(({ isAdmin }) => isAdmin));

/** After a change of the room's flags. */
export function mayNow(room: RoomFlags, person: Sender, disabled: readonly Kind[]): May {
  const may = (kind: Kind): boolean => roomAllows(room, person, kind) && !disabled.includes(kind);
  return {
    audio: may("audio"),
    video: may("video"),
    screen: may("screen"),
    chat: room.enableChat,
    record: room.enableRecording,
  };
}
