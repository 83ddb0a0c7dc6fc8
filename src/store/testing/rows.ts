/** For tests: rows of which only the identity matters. */
import type { AppRow } from "../store.ts";

export const appRow = (id: string, name = id): AppRow => ({
  id,
  name,
  secretSealed: "",
  secretDigest: "",
  secretSeq: 1,
  previousSecrets: [],
  planName: "",
  maxConcurrentConnections: null,
  maxMessagesPerPeriod: null,
  retentionDays: null,
  created: 0,
  deleted: null,
});
