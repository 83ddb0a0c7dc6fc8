/** Builds what is about people who are inside or wait: lobby, acts, times, signals, changes. */
import type { RoomTokens } from "../access/tokens/room-token.ts";
import { Repeating } from "../base/repeating.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { MeetingStore } from "../store/contract/meetings.ts";
import type { RoomStore } from "../store/contract/rooms.ts";
import { Acts } from "./acts/acts.ts";
import { Changes } from "./acts/changes.ts";
import { Naming } from "./acts/naming.ts";
import { Recording } from "./acts/recording.ts";
import { Repeats } from "./acts/repeats.ts";
import { Times } from "./acts/times.ts";
import type { Floor } from "./contract/floor.ts";
import { LOBBY_SWEEP_EVERY_MS, MISSED_REPEATED_EVERY_MS, TICK_MS } from "./contract/limits.ts";
import { Lobby } from "./entrance/lobby.ts";
import type { Inside, MeetingCore } from "./meetings.ts";
import { MissedNotices } from "./notices/missed.ts";
import { Notices } from "./notices/notices.ts";
import { Sessions } from "./sessions.ts";
import { Signals } from "./signals/signals.ts";
import { Exits } from "./stays/exits.ts";
import { Generations, type IsLive } from "./stays/generations.ts";
import { StayTokens } from "./stays/tokens.ts";

export interface InsideParts extends MeetingCore {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly roomChanges: Pick<Rooms, "onChange">;
  readonly tokens: RoomTokens;
  readonly floor: Floor;
  readonly isLive: IsLive;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly steadyMs: () => number;
  readonly failed: (error: unknown) => void;
}

export interface MeetingInside extends Inside {
  readonly lobby: Lobby;
  readonly acts: Acts;
  readonly recording: Recording;
  readonly stayTokens: StayTokens;
  readonly sessions: Sessions;
  /** Every second; `start` repeats it. */
  tick(): Promise<void>;
  /** Every few seconds: publishes again what notices could not say. */
  repeatMissed(): Promise<void>;
  /** The secret key of an application was rotated. Nothing depends on this call: the next tick and the next sweep find the same. */
  secretRotated(): void;
}

export function buildInside(parts: InsideParts): MeetingInside {
  const { floor, failed } = parts;
  const missed = new MissedNotices();
  const notices = new Notices(floor, missed, failed);
  const exits = new Exits({ ...parts, notices });
  const lobby = new Lobby({ ...parts, notices });
  const stayTokens = new StayTokens(parts);
  const recording = new Recording({ ...parts, notices });
  const naming = new Naming({ ...parts, notices });
  const changes = new Changes({ ...parts, notices, exits, lobby, recording, naming });
  const repeats = new Repeats({ ...parts, missed, notices, lobby, recording });
  parts.roomChanges.onChange((change) => {
    changes.changed(change);
    recording.roomChanged(change);
  });
  const times = new Times({ ...parts, notices, exits });
  const generations = new Generations({ ...parts, exits });
  const tick = async (): Promise<void> => {
    await generations.tick();
    await times.tick();
    await changes.tick();
  };
  const ticking = new Repeating(TICK_MS, tick, failed);
  const repeating = new Repeating(MISSED_REPEATED_EVERY_MS, () => repeats.run(), failed);
  const sweeping = new Repeating(LOBBY_SWEEP_EVERY_MS, () => lobby.sweep(), failed);
  return {
    lobby,
    times,
    changes,
    recording,
    signals: new Signals(parts),
    stayTokens,
    acts: new Acts({ ...parts, notices, exits, lobby, naming, recording, stayTokens }),
    sessions: new Sessions(parts),
    tick,
    repeatMissed: () => repeats.run(),
    secretRotated: () => {
      const end = async (): Promise<void> => {
        await generations.tick();
        await lobby.endWithSecret();
      };
      void end().catch(failed);
    },
    start: () => {
      ticking.start();
      sweeping.start();
      repeating.start();
    },
    stop: async () => {
      recording.stop();
      lobby.stop();
      await Promise.all([ticking.stop(), sweeping.stop(), repeating.stop()]);
    },
  };
}
