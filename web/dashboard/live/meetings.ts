/** Meetings: the one of a room that goes on now, and what is done to them. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get, post, put, query, remove, segment } from "../api/client.ts";
import type { HostLink, Meeting, Participant, Room } from "../api/room-types.ts";
import type { List } from "../api/types.ts";
import { type Live, repeated, useLive } from "./live.ts";

/** People come and go: this is how soon the page shows it. */
export const MEETING_EVERY_MS = 3000;

export const roomPath = (app: string, room: string): string => `/apps/${segment(app)}/rooms/${segment(room)}`;

export const meetingPath = (app: string, id: string): string => `/apps/${segment(app)}/meetings/${segment(id)}`;

/** `meeting`: with its participants; undefined while the room is empty. `room` is an id or a name. */
export function useMeetingNow(
  app: string,
  room: string,
): { readonly isReady: boolean; readonly meeting: Meeting | undefined } & Pick<Live<Meeting>, "error" | "reload"> {
  const everyMs = MEETING_EVERY_MS;
  const list = useLive<List<Meeting>>(`/apps/${segment(app)}/meetings${query({ room, active: "true", limit: 1 })}`, {
    everyMs,
  });
  const id = list.data?.data[0]?._id;
  const one = useLive<Meeting>(id && meetingPath(app, id), { everyMs });
  const error = list.error ?? one.error;
  return {
    isReady: error !== undefined || (list.data !== undefined && (id === undefined || one.data !== undefined)),
    meeting: id !== undefined && one.data?.active ? one.data : undefined,
    error,
    reload: async () => {
      await Promise.all([list.reload(), one.reload()]);
    },
  };
}

/** A meeting that has ended is listed at once; this is how often the page asks while one is ending. */
const ENDING_EVERY_MS = 1000;
/** After that many times it is not waited for any more: a meeting without people may last half a minute, and a list may be filtered. */
const ENDING_TIMES_MAX = 45;

interface PastOf {
  readonly meeting: Meeting | undefined;
  readonly past: Pick<Live<readonly Meeting[]>, "data" | "reload">;
  readonly reload: () => Promise<void>;
}

/** Whether the last meeting is ending: its last person has left, or it has ended and is not listed yet. Until then the page looks more often. */
export function useEnding({ meeting, past, reload }: PastOf): boolean {
  const last = useRef<string | undefined>(undefined);
  const isGivenUp = useSignal(false);
  if (meeting) last.current = meeting._id;
  const isListed = past.data?.some(({ _id }) => _id === last.current) === true;
  const isOver = meeting === undefined ? last.current !== undefined : insideOf(meeting).length === 0;
  const isEnding = isOver && !isListed;
  const look = useRef(async () => {});
  look.current = async () => {
    await Promise.all([past.reload(), reload()]);
  };
  useEffect(() => {
    isGivenUp.value = false;
    if (!isEnding) return undefined;
    let times = 0;
    return repeated(ENDING_EVERY_MS, async () => {
      if (++times > ENDING_TIMES_MAX) isGivenUp.value = true;
      else await look.current();
      return undefined;
    });
  }, [isEnding]);
  return isEnding && !isGivenUp.value;
}

/** `validSec`: absent, it is enough to join now. */
export const hostLink = (app: string, room: string, validSec?: number): Promise<HostLink> =>
  post(`${roomPath(app, room)}/host-link`, validSec === undefined ? {} : { validSec });
export const endMeeting = (app: string, room: string): Promise<{ readonly ended: number }> =>
  post(`${roomPath(app, room)}/end`);
export const removePerson = (app: string, room: string, { _id }: Participant): Promise<unknown> =>
  remove(`${roomPath(app, room)}/participants/${segment(_id)}`);

export const makePrivate = (app: string, room: string): Promise<Room> =>
  put(roomPath(app, room), { privacy: "private" });

/** The most meetings that the call lists at once. */
const LISTED_MAX = 100;

/** How many people are in meetings of the application; undefined: it has more of them than are counted here. */
export async function peopleInMeetings(app: string): Promise<number | undefined> {
  const path = `/apps/${segment(app)}/meetings${query({ active: "true", limit: LISTED_MAX })}`;
  const { data, next } = await get<List<Meeting>>(path);
  return next === null ? data.reduce((sum, { inside = 0 }) => sum + inside, 0) : undefined;
}

export const setRecording = (app: string, room: string, isOn: boolean): Promise<{ readonly recording: boolean }> =>
  post(`${roomPath(app, room)}/recording/${isOn ? "start" : "stop"}`);

export const insideOf = ({ participants = [] }: Meeting): readonly Participant[] =>
  participants.filter(({ endTime }) => endTime === undefined);

/** Why a stay has ended. */
export const END_REASONS: Readonly<Record<NonNullable<Participant["endReason"]>, string>> = {
  left: "left",
  lost: "connection lost",
  time: "time ran out",
  ended: "meeting ended",
  removed: "removed",
};
