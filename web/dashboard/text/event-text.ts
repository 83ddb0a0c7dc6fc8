/** Events and codes in sentences. */
import * as close from "../../../src/protocol/close.ts";
import { REALTIME_CODES } from "../../../src/protocol/codes.ts";
import type { RecordedEvent, TailEvent } from "../api/types.ts";
import { bytes, whole } from "./format.ts";
import { inText } from "./in-text.ts";

type Role = "good" | "warn" | "bad" | "accent" | "";

const ROLES: Readonly<Record<string, Role>> = {
  connect: "good",
  refuse: "bad",
  error: "bad",
  dropped: "warn",
  gap: "warn",
  closed: "warn",
};

/** What someone looks for, and what there is most of. */
const WEIGHTS: Readonly<Record<string, "loud" | "quiet">> = {
  refuse: "loud",
  error: "loud",
  publish: "quiet",
  send: "quiet",
  presence: "quiet",
  state: "quiet",
  subscribe: "quiet",
  unsubscribe: "quiet",
  renew: "quiet",
};

export const weightOf = (kind: string): "loud" | "quiet" | "" => WEIGHTS[kind] ?? "";

const SIGNS: Readonly<Record<string, string>> = { refuse: "✕", error: "!", dropped: "…", gap: "…", closed: "…" };

/** Marks a kind without colour; "" for most. */
export const signOf = (kind: string): string => SIGNS[kind] ?? "";

/** What its badge says: events are missing there. */
export const kindText = (kind: string): string => (kind === "gap" ? "lost" : kind === "closed" ? "left" : kind);

/** The colour of a kind's badge. */
export const roleOf = (kind: string): Role => ROLES[kind] ?? "";

/** Close codes that browsers and proxies use. */
const CLOSINGS: Readonly<Record<number, string>> = {
  1000: "closed by the client",
  1001: "the page was left, or the service is going away",
  1005: "closed by the client without a code",
  1006: "the network connection was lost",
  1009: "a message was too large",
  ...Object.fromEntries(
    Object.values(close)
      .filter(({ code }) => code !== close.GOING_AWAY.code)
      .map(({ code, reason }) => [code, reason]),
  ),
};

/** What a code means; undefined if it is unknown. */
export function meaningOf(code: string | number | undefined): string | undefined {
  if (typeof code === "number") return CLOSINGS[code];
  if (code === "key_revoked") return "The key is revoked.";
  if (code === "over_concurrent") return "The application has as many connections as its plan allows.";
  return code !== undefined && Object.hasOwn(REALTIME_CODES, code)
    ? REALTIME_CODES[code as keyof typeof REALTIME_CODES].text
    : undefined;
}

/** Why this was refused. A refusal of `unauthorized` names a peer only if that peer is blocked; clients are not sent the reason. */
export const refusalOf = (code: string | number | undefined, peerId: string | undefined): string | undefined =>
  isBlocked(code, peerId) ? "The peer is blocked." : meaningOf(code);

export const isBlocked = (code: string | number | undefined, peerId: string | undefined): boolean =>
  code === "unauthorized" && peerId !== undefined;

/** One line of JSON, cut: lists have room for no more. */
const PREVIEW_MAX_CHARS = 200;
export const preview = (value: unknown): string => (JSON.stringify(value) ?? "").slice(0, PREVIEW_MAX_CHARS);
/** The same of a text. */
export const oneLine = (text: string): string => text.slice(0, PREVIEW_MAX_CHARS).replaceAll(/\s+/g, " ");

/** What the columns for peer and channel do not say. */
export function detailOf(event: TailEvent): string {
  const { kind, code, to, change, address, origin, data, count, keyId } = event;
  switch (kind) {
    case "dropped":
      return `${whole(count ?? 0)} ${count === 1 ? "event is" : "events are"} missing here: more arrived than this page could show.`;
    case "gap":
      return "The connection was lost at this time. Events until it was back are missing here.";
    case "closed":
      return "You left this page at this time. Events until you came back are missing here.";
    case "presence":
      return change ?? "";
    case "connect":
      return joined([address && `from ${address}`, keyId && `with ${keyId}`]);
    case "renew":
      return keyId ? `token of ${keyId}` : "";
    case "publish":
    case "send":
    case "state":
      return joined([
        to !== undefined && `to ${to}`,
        event.bytes !== undefined && bytes(event.bytes),
        data !== undefined && preview(data),
      ]);
    default:
      return joined([
        code !== undefined && String(code),
        origin && `on ${origin}`,
        kind === "refuse" ? refusalOf(code, event.peerId) : meaningOf(code),
        address && `from ${address}`,
      ]);
  }
}

const joined = (parts: readonly (string | false | undefined)[]): string => parts.filter(Boolean).join(" · ");

/** An event of the flight recorder of a peer as a sentence; names are marked by quotes. */
export function sentenceOf({ kind, channel, code, count, keyId }: RecordedEvent): string {
  const on = channel === undefined ? "" : ` “${inText(channel)}”`;
  const meaning = kind === "refuse" ? refusalOf(code, "") : meaningOf(code);
  const why = `${code === undefined ? "" : ` with ${code}`}${meaning ? `: ${lowered(meaning)}` : ""}.`;
  switch (kind) {
    case "connect":
      return `Connected${keyId ? ` with key ${keyId}` : ""}.`;
    case "subscribe":
      return `Subscribed to${on || " a channel"}.`;
    case "unsubscribe":
      return `Left${on || " a channel"}.`;
    case "refuse":
      return `A connect was refused${why}`;
    case "error":
      return `${requests(count)}${on && ` for${on}`} ${(count ?? 1) > 1 ? "were" : "was"} refused${why}`;
    case "state":
      return `Set its state${on && ` in${on}`}${(count ?? 1) > 1 ? ` ${whole(count ?? 1)} times` : ""}.`;
    case "renew":
      return `Renewed its token${keyId ? ` with key ${keyId}` : ""}${(count ?? 1) > 1 ? ` ${whole(count ?? 1)} times` : ""}.`;
    case "close":
      return `The connection ended${why}`;
    case "publish":
      return `Published or sent ${count === 1 ? "one message" : `${whole(count ?? 0)} messages`}.`;
    default:
      return `${kind}${on}${why}`;
  }
}

const requests = (count = 1): string => (count === 1 ? "A request" : `${whole(count)} requests`);
const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, "");
