/** Decodes what `history_read` returns. */
import type { Page, StoredMessage, StreamState } from "../../contract/history.ts";
import { messageBytes } from "../../contract/size.ts";

type Entry = readonly [
  offset: number,
  check: string,
  time: number,
  from: string,
  metadata: string | null,
  data: string,
  connection: string | null,
  id: string | null,
];

/** What `history_read` returns. */
export interface PageJson {
  readonly state: StreamState;
  readonly check: string | null;
  readonly messages: readonly Entry[];
  /** How many messages the range has without its limits. */
  readonly count: number;
}

export function pageOf({ state, check, messages, count }: PageJson): Page {
  return { state, check: check ?? undefined, messages: messages.map(storedMessage), more: messages.length < count };
}

function storedMessage([offset, check, time, from, metadata, dataJson, connection, id]: Entry): StoredMessage {
  const texts = {
    from,
    metadataJson: metadata ?? undefined,
    dataJson,
    connection: connection ?? undefined,
    id: id ?? undefined,
  };
  return { offset, check, time, ...texts, bytes: messageBytes(texts) };
}
