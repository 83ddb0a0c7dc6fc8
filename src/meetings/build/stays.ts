/** Builds the participant sessions of this node: how they begin, go on, are kept alive and end. */
import type { RoomTokens } from "../../access/tokens/room-token.ts";
import type { MeetingStore } from "../../store/contract/meetings.ts";
import type { RoomStore } from "../../store/contract/rooms.ts";
import type { Floor } from "../contract/floor.ts";
import { Doubts } from "../stays/doubts.ts";
import { Entry } from "../stays/entry.ts";
import { Exits } from "../stays/exits.ts";
import { Generations, type IsLive } from "../stays/generations.ts";
import { Present } from "../stays/present.ts";
import { Stays } from "../stays/stays.ts";
import { StayTokens } from "../stays/tokens.ts";
import { Upkeep } from "../stays/upkeep.ts";
import { StayWrites } from "../stays/writes.ts";
import type { NoticesBuilt } from "./notices.ts";

export interface StaysOutside {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly roomTokens: RoomTokens;
  readonly floor: Floor;
  readonly isLive: IsLive;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  /** PARLEY_MESH_MAX. */
  readonly meshMax: number;
  readonly failed: (error: unknown) => void;
}

export interface StaysBuilt {
  readonly present: Present;
  readonly writes: StayWrites;
  readonly upkeep: Upkeep;
  readonly entry: Entry;
  readonly stays: Stays;
  readonly exits: Exits;
  readonly generations: Generations;
  readonly stayTokens: StayTokens;
}

export function buildStays(outside: StaysOutside, { notices, recording }: NoticesBuilt): StaysBuilt {
  const { store, rooms, roomTokens, floor, isLive, nodeId, nowMs, monotonicMs, meshMax, failed } = outside;
  const present = new Present();
  const writes = new StayWrites(failed);
  const isExpected = (room: string, id: string): boolean => stays.isExpected(room, id);
  const doubts = new Doubts({ store, writes, isExpected, nodeId, nowMs, monotonicMs });
  const upkeep = new Upkeep({ store, rooms, floor, writes, doubts, nodeId, nowMs, monotonicMs, failed });
  const entry = new Entry({
    store,
    rooms,
    nodeId,
    nowMs,
    meshMax,
    isOpen: (room) => present.room(room) !== undefined,
    beat: () => upkeep.beat(),
    meetingBegan: async (meeting, room) => {
      await upkeep.meetingBegan(meeting, room);
      await recording.meetingBegan(meeting);
    },
    inDoubt: (claims) => doubts.add(claims),
  });
  const stays = new Stays({ store, floor, present, entry, writes, nodeId, nowMs, monotonicMs, failed });
  const exits = new Exits({ store, floor, stays, upkeep, notices, nowMs, failed });
  return {
    present,
    writes,
    upkeep,
    entry,
    stays,
    exits,
    generations: new Generations({ present, exits, isLive, failed }),
    stayTokens: new StayTokens({ store, rooms, tokens: roomTokens, isLive, nowMs }),
  };
}
