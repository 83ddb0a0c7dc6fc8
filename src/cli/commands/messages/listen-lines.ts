/** What `parley listen` prints: one line per event, for people or as JSON. The fields of the JSON are documented in docs/cli.md. */
import type { Direct, Gap, Member, Message } from "../../../../client/src/index.ts";
import { escaped, jsonLine } from "../../terminal/output.ts";

export type Heard =
  | { readonly type: "message"; readonly message: Message }
  | { readonly type: "direct"; readonly direct: Direct }
  | { readonly type: "joined" | "left"; readonly channel: string; readonly member: Member }
  | { readonly type: "gap"; readonly channel: string; readonly reason: Gap["reason"] };

/** JSON without fields that are undefined, in a fixed order. */
export function asJsonLine(heard: Heard): string {
  const { type } = heard;
  if (type === "gap") return jsonLine({ type, channel: heard.channel, reason: heard.reason });
  if (type === "message") {
    const { channel, from, data, fromMetadata, pos, time, id, replay } = heard.message;
    return jsonLine({ type, channel, from, data, fromMetadata, pos, time, id, replay });
  }
  if (type === "direct") {
    const { from, data, fromMetadata, id } = heard.direct;
    return jsonLine({ type, from, data, fromMetadata, id });
  }
  const { peerId, metadata } = heard.member;
  return jsonLine({ type, channel: heard.channel, peerId, metadata });
}

const RESET = "\x1b[0m";
const [GREEN, YELLOW, CYAN, DIM] = ["\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[2m"];
const PEER_CHARS = 12;
const DAY_MS = 86_400_000;

export class ListenText {
  private readonly channelChars: number;

  constructor(
    channels: readonly string[],
    private readonly isColoured: boolean,
    private readonly nowMs: () => number = Date.now,
  ) {
    this.channelChars = Math.max(...["direct", ...channels].map((name) => Bun.stringWidth(escaped(name))));
  }

  /** A gap is reported on stderr instead. */
  of(heard: Heard): string {
    if (heard.type === "gap") return "";
    if (heard.type === "message") {
      const { channel, from, data, time } = heard.message;
      return this.line(time, channel, CYAN, from, payloadText(data));
    }
    if (heard.type === "direct")
      return this.line(undefined, "direct", CYAN, heard.direct.from, payloadText(heard.direct.data));
    const { type, channel, member } = heard;
    const metadata = member.metadata === undefined ? "" : ` ${JSON.stringify(member.metadata)}`;
    return this.line(undefined, channel, type === "joined" ? GREEN : YELLOW, member.peerId, `${type}${metadata}`);
  }

  private line(timeMs: number | undefined, channel: string, colour: string, peer: string, text: string): string {
    const columns = [
      this.paint(DIM, this.timeOf(timeMs)),
      pad(escaped(channel), this.channelChars),
      this.paint(colour, pad(escaped(peer), PEER_CHARS)),
      // Data comes from peers, and a terminal would obey control characters in it.
      escaped(text),
    ];
    return `${columns.join("  ")}\n`;
  }

  /** The time of day here, with the date if that is another day. */
  private timeOf(timeMs = this.nowMs()): string {
    const date = new Date(timeMs);
    const two = (value: number): string => String(value).padStart(2, "0");
    const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
    if (this.nowMs() - timeMs < DAY_MS) return time;
    return `${[date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-")} ${time}`;
  }

  private paint(colour: string, shown: string): string {
    return this.isColoured ? `${colour}${shown}${RESET}` : shown;
  }
}

/** A text with several lines stays one line. */
const payloadText = (data: unknown): string =>
  typeof data === "string" ? data.replaceAll("\n", "\\n").replaceAll("\t", "\\t") : JSON.stringify(data);

const pad = (shown: string, width: number): string => shown + " ".repeat(Math.max(0, width - Bun.stringWidth(shown)));
