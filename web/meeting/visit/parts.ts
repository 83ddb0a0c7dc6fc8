/** What a visit needs: the real parts are in main.tsx, those of tests in testing/fakes.ts. */
import type { MediaEngine } from "../call/contract.ts";
import type { Api } from "../page/api.ts";
import type { Uploads } from "../recording/contract.ts";
import type { OwnRecordingParts } from "../recording/own-recording.ts";
import type { LobbyConnection, LobbyOpening, RoomConnection, RoomOpening } from "../room/contract.ts";
import type { OwnMedia } from "../session/own-media.ts";

export interface VisitParts {
  readonly roomName: string;
  readonly api: Api;
  readonly media: OwnMedia;
  readonly openRoom: (opening: RoomOpening) => RoomConnection;
  readonly openLobby: (opening: LobbyOpening) => LobbyConnection;
  readonly makeEngine: () => MediaEngine;
  readonly uploads: Uploads;
  readonly startRecorder: OwnRecordingParts["startRecorder"];
  readonly observe: OwnRecordingParts["observe"];
  /** An access token that came with the address. */
  readonly token: string | undefined;
  /** Framed by an allowed origin: `autoJoin` may turn camera and microphone on. */
  readonly isFramed: boolean;
  /** When the room's time is over, in Unix seconds. */
  readonly expiresAt?: number | undefined;
  /** The name of a person who gives none. A host is never called a guest. */
  readonly defaultName: (isHost: boolean) => string;
}
