/** What readers get of stored messages: the bytes that were written, or the messages as in pages of history; whole, or as events. */
import type { StoredMessage } from "../../history/contract/history.ts";
import * as encode from "../../protocol/encode.ts";
import type { Position } from "../../protocol/position.ts";
import { bytesOf, type DataForm, shownOf } from "../../protocol/streams/data.ts";
import { offsetText } from "../../protocol/streams/offset.ts";
import type { View } from "./read-query.ts";

type Messages = readonly StoredMessage[];

export function bodyOf(
  messages: Messages,
  epoch: string,
  form: DataForm,
  view: View,
): string | Uint8Array<ArrayBuffer> {
  if (view === "messages") return entriesOf(messages, epoch, form);
  return form === "json" ? valuesOf(messages) : rawOf(messages, form);
}

/** The type of such a body, of a stream of this type. */
export const bodyType = (contentType: string, view: View): string =>
  view === "data" ? contentType : "application/json";

/**
 * An event of Server-Sent Events with these messages, up to `next`; "" without any. Its `id` is what an EventSource sends when it comes back: also if its
 * connection has broken before the `control` behind it came.
 */
export function eventOf(messages: Messages, next: Position, form: DataForm, view: View): string {
  if (messages.length === 0) return "";
  return `event: data\n${linesOf(eventText(messages, next.epoch, form, view))}\nid: ${offsetText(next)}\n\n`;
}

/** Whether the data of its events is base64. */
export const isBase64 = (form: DataForm, view: View): boolean => view === "data" && form === "binary";

function eventText(messages: Messages, epoch: string, form: DataForm, view: View): string {
  if (view === "messages") return entriesOf(messages, epoch, form);
  if (form === "json") return valuesOf(messages);
  const bytes = rawOf(messages, form);
  return form === "binary" ? bytes.toString("base64") : bytes.toString("utf8");
}

/** A client removes one space at the beginning of a line, and joins the lines with LF. */
const linesOf = (text: string): string =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => (line.startsWith(" ") ? `data: ${line}` : `data:${line}`))
    .join("\n");

const valuesOf = (messages: Messages): string => `[${messages.map(({ dataJson }) => dataJson).join(",")}]`;

const rawOf = (messages: Messages, form: DataForm): Buffer<ArrayBuffer> =>
  Buffer.concat(messages.map(({ dataJson }) => bytesOf(dataJson, form)));

const entriesOf = (messages: Messages, epoch: string, form: DataForm): string =>
  `[${messages.map((one) => entryOf(one, epoch, form)).join(",")}]`;

function entryOf(message: StoredMessage, epoch: string, form: DataForm): string {
  const { offset, check, time, from, metadataJson, id } = message;
  const { dataJson, isBase64: isEncoded } = shownOf(message.dataJson, form);
  const fields = encode.storedFields({ epoch, offset, check }, time, id);
  return encode.historyEntry(
    JSON.stringify(from),
    metadataJson,
    dataJson,
    isEncoded ? fields + encode.BASE64_FIELD : fields,
  );
}
