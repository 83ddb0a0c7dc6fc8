/** Recordings: what they show, and the filters of their list, which are in the address under the names that the call has. */
import { parameters } from "../address/router.ts";
import { segment } from "../api/client.ts";
import type { Recording } from "../api/room-types.ts";

export const recordingsPath = (app: string): string => `/apps/${segment(app)}/recordings`;

const SOURCES: Readonly<Record<Recording["type"], string>> = {
  video: "camera",
  audio: "microphone",
  screen: "screen",
  composition: "composition",
};

/** The type of what a page of a meeting has recorded says where it came from. What a backend uploads may be any video or audio. */
export const sourceOf = ({ type, mended }: Pick<Recording, "type" | "mended">): string =>
  mended === undefined ? type : SOURCES[type];

export const RECORDING_TYPES = ["video", "audio", "screen", "composition"] as const;

export const FILTERS = [
  "room",
  "participantUsername",
  "type",
  "startedAfter",
  "startedBefore",
  "meetingSession",
  "participantSession",
] as const;
export type Filter = (typeof FILTERS)[number];

export const filterOf = (name: Filter): string => parameters.value.get(name) ?? "";

/** The filters that are set. */
export const filters = (): Readonly<Record<string, string>> =>
  Object.fromEntries(FILTERS.map((name) => [name, filterOf(name)] as const).filter(([, value]) => value !== ""));
