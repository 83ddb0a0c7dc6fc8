/**
 * What people call a peer: `name` or `username` of its metadata, else of what it says about itself in a channel. Texts are parsed only if
 * they seem to have one, and only for peers that are shown.
 */
import { partOf } from "../../../base/part-of.ts";
import { isObject, parseStrict } from "../../../protocol/json.ts";
import type { Connection } from "../../state/connection.ts";
import type { Peer } from "../../state/peer.ts";
import { PEER_NAME_MAX_CHARS } from "./limits.ts";

/** A peer may have very many connections, each with very many subscriptions: a name is looked for in the first of them. */
const CONNECTIONS_READ_MAX = 4;
const STATES_READ_MAX = 8;

const FIELDS = ["name", "username"] as const;
const QUOTED = FIELDS.map((field) => `"${field}"`);

export function nameOf(peer: Peer): string | undefined {
  for (const text of textsOf(peer)) {
    const name = nameIn(text);
    if (name !== undefined) return name;
  }
  return undefined;
}

/**
 * Whether the name of a peer has this text in it, in upper or lower case. Asked of every peer, so the texts of nearly all are searched and not parsed, and one
 * connection, which most have, needs no list.
 */
export function namedWith(contains: string): (peer: Peer) => boolean {
  const isInJson = partOf(JSON.stringify(contains).slice(1, -1));
  const isInName = partOf(contains);
  // Only what is not ASCII may be written in two ways.
  const mayBeEscaped = /[^ -~]/.test(contains);
  const has = (text: string | undefined): boolean =>
    text !== undefined && (isInJson(text) || (mayBeEscaped && text.includes("\\u")));
  const isCandidate = (peer: Peer): boolean => {
    const { onlyConnection } = peer;
    if (onlyConnection?.subscriptionCount === 0) return has(onlyConnection.metadataJson);
    if (onlyConnection) return has(onlyConnection.metadataJson) || statesOf(onlyConnection).some(has);
    return [...textsOf(peer)].some(has);
  };
  return (peer) => {
    const name = isCandidate(peer) ? nameOf(peer) : undefined;
    return name !== undefined && isInName(name);
  };
}

/** Metadata before states, and in each the newest connection first. */
function* textsOf(peer: Peer): Generator<string> {
  const newestFirst = peer.connections.slice(-CONNECTIONS_READ_MAX).reverse();
  for (const { metadataJson } of newestFirst) if (metadataJson !== undefined) yield metadataJson;
  for (const connection of newestFirst) yield* statesOf(connection);
}

const statesOf = (connection: Connection): string[] =>
  connection.subscriptions.slice(0, STATES_READ_MAX).flatMap(({ stateJson }) => stateJson ?? []);

function nameIn(text: string): string | undefined {
  if (!QUOTED.some((field) => text.includes(field))) return undefined;
  const parsed = parseStrict(text, true);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  for (const field of FIELDS) {
    const value = parsed.value[field];
    const name = typeof value === "string" ? shortened(value) : "";
    if (name !== "") return name;
  }
  return undefined;
}

/** On one line, and without half a character at its end. */
const shortened = (name: string): string =>
  name
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, PEER_NAME_MAX_CHARS)
    .toWellFormed();
