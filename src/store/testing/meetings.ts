/** For tests: people who enter rooms. */
import { anAppId } from "../../base/testing/ids.ts";
import type { Entered, Entering, LobbyLimits, MeetingRow, StayRow, WaitingRow } from "../contract/meetings.ts";

const A = anAppId("a");

/** A guest of room `room` of application `a`; a new meeting gets the id `m-<id>`. */
export const entering = (id: string, room: string, fields: Partial<Entering> = {}): Entering => ({
  id,
  app: A,
  room,
  roomName: `name-${room}`,
  name: `Ann ü'"\\ ${id}`,
  externalUserId: null,
  isAdmin: false,
  isGuest: true,
  accessToken: null,
  node: "n1",
  newMeeting: `m-${id}`,
  ejectAfterSec: null,
  ejectAtLatest: null,
  ...fields,
});

/** The stay and the meeting of a client that must have come in. */
export function inside(entered: Entered): { readonly stay: StayRow; readonly meeting: MeetingRow } {
  if (!("stay" in entered)) throw new Error(`it did not enter: ${entered.outcome}`);
  return entered;
}

export const lobbyLimits = (max = 9, perAddress = 9, perSite = 99): LobbyLimits => ({ max, perAddress, perSite });

export const waitingRow = (waitId: string, room: string, fields: Partial<WaitingRow> = {}): WaitingRow => ({
  waitId,
  app: A,
  room,
  name: `Ben ü'"\\ ${waitId}`,
  address: `address of ${waitId}`,
  site: null,
  since: 1000,
  seen: 1000,
  state: "waiting",
  decided: null,
  ...fields,
});
