/** Ids for tests. */
import type { AppId, SpaceId } from "../ids.ts";

/** An application's id that is also accepted as the id of its own space: the two have the same text, so tests need not convert it. */
export const anAppId = (text: string): AppId & SpaceId => text as AppId & SpaceId;
