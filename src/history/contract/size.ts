/** How much a message counts: against `maxHistoryBytes`, and against the bytes of a page or a replay. */

import { MESSAGE_OVERHEAD_BYTES } from "./limits.ts";
import type { NewMessage } from "./messages.ts";

type Sized = Pick<NewMessage, "from" | "metadataJson" | "dataJson" | "connection" | "id">;

/** An upper bound of what the message takes in a frame; the same for a new message and for a stored one. */
export const messageBytes = ({ from, metadataJson, dataJson, connection, id }: Sized): number =>
  MESSAGE_OVERHEAD_BYTES +
  from.length +
  Buffer.byteLength(dataJson) +
  (metadataJson === undefined ? 0 : Buffer.byteLength(metadataJson)) +
  (connection?.length ?? 0) +
  (id?.length ?? 0);
