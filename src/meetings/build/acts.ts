/** Builds what changes a meeting that goes on: acts, changes of its room, names, and the clock. */
import type { Rooms } from "../../rooms/rooms.ts";
import type { MeetingStore } from "../../store/contract/meetings.ts";
import type { RoomStore } from "../../store/contract/rooms.ts";
import { Activity } from "../acts/activity.ts";
import { Acts } from "../acts/acts.ts";
import { Changes } from "../acts/changes.ts";
import { Naming } from "../acts/naming.ts";
import { Repeats } from "../acts/repeats.ts";
import { Times } from "../acts/times.ts";
import type { Floor } from "../contract/floor.ts";
import type { EntranceBuilt } from "./entrance.ts";
import type { NoticesBuilt } from "./notices.ts";
import type { StaysBuilt } from "./stays.ts";

export interface ActsOutside {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly roomChanges: Pick<Rooms, "onChange">;
  readonly floor: Floor;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly steadyMs: () => number;
  readonly failed: (error: unknown) => void;
}

export interface ActsBuilt {
  readonly acts: Acts;
  readonly changes: Changes;
  readonly repeats: Repeats;
  readonly times: Times;
}

export function buildActs(
  { store, rooms, roomChanges, floor, nodeId, nowMs, monotonicMs, steadyMs, failed }: ActsOutside,
  { missed, notices, recording }: NoticesBuilt,
  { stays, present, exits, stayTokens }: StaysBuilt,
  { lobby }: EntranceBuilt,
): ActsBuilt {
  const naming = new Naming({ store, floor, stays, notices, failed });
  const changes = new Changes({
    store,
    rooms,
    floor,
    stays,
    present,
    notices,
    exits,
    lobby,
    recording,
    naming,
    nodeId,
    nowMs,
    monotonicMs,
    failed,
  });
  roomChanges.onChange((change) => {
    changes.changed(change);
    recording.roomChanged(change);
  });
  const activity = new Activity({ store, floor, nodeId });
  return {
    acts: new Acts({ store, rooms, stayTokens, notices, exits, lobby, naming, recording, nowMs }),
    changes,
    repeats: new Repeats({ store, rooms, missed, notices, lobby, recording, nowMs, failed }),
    times: new Times({ store, floor, activity, present, notices, exits, nowMs, steadyMs, failed }),
  };
}
