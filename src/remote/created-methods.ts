/** Which methods of created streams travel between a worker and the server: a part of the table in methods.ts. */
import type { CreatedStreamStore } from "../history/contract/created-streams.ts";
import type { StreamsByChannel } from "../history/sqlite/created/store.ts";
import type { Listed } from "./listed.ts";

/** Without `applyRules`, whose argument is a function. */
export const created: Listed<CreatedStreamStore, "applyRules"> = {
  create: true,
  write: true,
  settle: true,
  describe: true,
  read: true,
  use: true,
  delete: true,
  list: true,
  producers: true,
  changes: true,
  expire: true,
};

export type CreatedPart = Pick<CreatedStreamStore, keyof typeof created>;

export const createdCalls: Listed<StreamsByChannel> = { channelsAfter: true, deleteAll: true };
