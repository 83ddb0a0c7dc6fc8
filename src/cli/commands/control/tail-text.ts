/** An event of the tail as one line for people: aligned, and coloured on a terminal. */
import type { JsonObject } from "../../../protocol/json.ts";
import { escaped } from "../../terminal/output.ts";

const RESET = "\x1b[0m";
const [RED, GREEN, YELLOW, CYAN, DIM] = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[2m"];
const COLOURS: Readonly<Record<string, string>> = {
  connect: GREEN,
  refuse: RED,
  error: RED,
  dropped: RED,
  close: YELLOW,
  publish: CYAN,
  send: CYAN,
};
/** Widths of the columns; longer texts move what follows. */
const [KIND, APP, CHANNEL, PEER] = [11, 12, 20, 16];

export class TailText {
  private readonly names = new Map<string, string>();

  constructor(
    /** Finds the name of an application. */
    private readonly find: (app: string) => Promise<string>,
    private readonly isColoured: boolean,
  ) {}

  async of(event: JsonObject): Promise<string> {
    const { at, kind, channel, peerId, to, nodeId } = event;
    const head = `${this.paint(DIM, timeOf(at))}  ${this.paint(COLOURS[text(kind)] ?? "", text(kind).padEnd(KIND))}`;
    if (kind === "dropped")
      return `${head}  ${text(event.count)} events were skipped here; use a narrower filter to see all`;
    const peers = to === undefined ? text(peerId) : `${text(peerId)} → ${text(to)}`;
    const columns = [pad(await this.nameOf(text(event.app)), APP), pad(text(channel), CHANNEL), pad(peers, PEER)];
    const details = [...columns, detailsOf(event)].join("  ").trimEnd();
    return `${head}  ${details}  ${this.paint(DIM, `@${text(nodeId)}`)}`;
  }

  private async nameOf(app: string): Promise<string> {
    if (app === "") return app;
    const name = this.names.get(app) ?? escaped(await this.find(app));
    this.names.set(app, name);
    return name;
  }

  private paint(colour: string, shown: string): string {
    return this.isColoured && colour !== "" ? `${colour}${shown}${RESET}` : shown;
  }
}

function detailsOf({ code, change, bytes, address, origin, keyId, data, truncated }: JsonObject): string {
  const payload = data === undefined ? "" : typeof data === "string" && truncated ? `${data}…` : JSON.stringify(data);
  return [
    text(code),
    text(change),
    bytes === undefined ? "" : `${text(bytes)} B`,
    address === undefined ? "" : `from ${text(address)}`,
    origin === undefined ? "" : `on ${text(origin)}`,
    // For what a peer does in a channel its key is of no interest.
    address === undefined || keyId === undefined ? "" : `with ${text(keyId)}`,
    escaped(payload),
  ]
    .filter(Boolean)
    .join("  ");
}

/** Names come from clients, and a terminal would obey control characters in them. */
const text = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? escaped(String(value)) : "";

const pad = (shown: string, width: number): string => shown + " ".repeat(Math.max(0, width - Bun.stringWidth(shown)));

/** The time of day here. */
function timeOf(at: unknown): string {
  const date = new Date(Number(at));
  if (Number.isNaN(date.getTime())) return "--:--:--.---";
  const two = (value: number): string => String(value).padStart(2, "0");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${time}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
