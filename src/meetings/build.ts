/**
 * Builds meetings/, folder by folder: each function of build/ takes what comes from outside and the records of the functions before it, and
 * returns a record of its own. No part gets the whole.
 */
import { type ActsOutside, buildActs } from "./build/acts.ts";
import { buildBackground } from "./build/background.ts";
import { buildEntrance, type EntranceOutside } from "./build/entrance.ts";
import { buildNotices, type NoticesOutside } from "./build/notices.ts";
import { buildStays, type StaysOutside } from "./build/stays.ts";
import { Meetings } from "./meetings.ts";
import { Sessions } from "./sessions.ts";
import { Signals } from "./signals/signals.ts";

/** What comes from outside of meetings. */
export interface MeetingsOutside extends NoticesOutside, StaysOutside, EntranceOutside, ActsOutside {}

export function buildMeetings(outside: MeetingsOutside): Meetings {
  const { store, rooms, floor, nowMs, monotonicMs, failed } = outside;
  const noticesBuilt = buildNotices(outside);
  const staysBuilt = buildStays(outside, noticesBuilt);
  const entranceBuilt = buildEntrance(outside, noticesBuilt, staysBuilt);
  const actsBuilt = buildActs(outside, noticesBuilt, staysBuilt, entranceBuilt);
  const background = buildBackground(failed, noticesBuilt, staysBuilt, entranceBuilt, actsBuilt);
  const { present, upkeep, entry, stays, writes, stayTokens } = staysBuilt;
  const { lobby, earlierStays, joining } = entranceBuilt;
  const { acts, changes, times } = actsBuilt;
  const { recording } = noticesBuilt;
  const signals = new Signals({ present, floor, store, nowMs, monotonicMs });
  const sessions = new Sessions({ store, rooms, nowMs });
  const services = { lobby, signals, times, changes, recording, acts, stayTokens, sessions, ...background };
  return new Meetings({
    store,
    rooms,
    nowMs,
    failed,
    present,
    upkeep,
    entry,
    stays,
    writes,
    earlierStays,
    joining,
    services,
  });
}
