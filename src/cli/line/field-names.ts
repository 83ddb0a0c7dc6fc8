/** The fields of the application API that `--fields` takes. */
import { ROOM_FIELDS } from "../../protocol/room-fields.ts";

export const ROOM_FIELD_NAMES: readonly string[] = ["roomName", ...Object.keys(ROOM_FIELDS)];

/** A test sends all of them, and the server must know each. */
export const TOKEN_FIELD_NAMES: readonly string[] = [
  "roomName",
  "roomURL",
  "globalToken",
  "isAdmin",
  "name",
  "email",
  "externalUserId",
  "meta",
  "expireUnixSec",
  "notBeforeUnixSec",
  "ejectAfterElapsedTimeInSec",
  "joinVideoOn",
  "joinAudioOn",
  "disableVideo",
  "disableAudio",
  "disableScreenSharing",
];
