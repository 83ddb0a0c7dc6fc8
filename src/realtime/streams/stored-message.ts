/** A message of another node, as this node would have it from the store. */
import type { Envelope, Stored } from "../../engine/engine.ts";
import type { StoredMessage } from "../../history/contract/history.ts";
import { messageBytes } from "../../history/contract/size.ts";

export function storedMessage({ from, metadataJson, dataJson, id }: Envelope, stored: Stored): StoredMessage {
  const { offset, check, time, connection } = stored;
  const bytes = messageBytes({ from, metadataJson, dataJson, connection, id });
  return { offset, check, time, from, metadataJson, dataJson, connection, id, bytes };
}
