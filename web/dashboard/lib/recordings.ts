/** The filters of the list of recordings, which are in the address under the names that the call has. */
import { parameters } from "./router.ts";

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
