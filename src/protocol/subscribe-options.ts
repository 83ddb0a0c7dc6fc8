/** What a subscribe asks for beside its channel. */
import { REPLAY_MAX_MESSAGES } from "./limits.ts";

/** From where a subscription to a channel with history begins; absent: with what is published from now on. */
export type Start =
  /** Behind this position, as the client sent it; without the messages that the connection of this id has published. */
  | { readonly kind: "recover"; readonly position: string; readonly connection: string | undefined }
  /** With the newest messages. */
  | { readonly kind: "messages"; readonly count: number }
  /** With the messages of this time. */
  | { readonly kind: "seconds"; readonly seconds: number };

export interface SubscribeOptions {
  /** Messages carry their sender's metadata. */
  readonly withMetadata: boolean;
  readonly start: Start | undefined;
  /** Rosters carry the members' states, and changes of them are sent. */
  readonly withStates: boolean;
  /** The number of members is sent whenever it changes. */
  readonly withOccupancy: boolean;
  /** False: the subscription gets no rosters, joins or leaves, and is not shown. Only with `withOccupancy`. */
  readonly isPresent: boolean;
}

export const PLAIN: SubscribeOptions = {
  withMetadata: false,
  start: undefined,
  withStates: false,
  withOccupancy: false,
  isPresent: true,
};

const WITH_METADATA: SubscribeOptions = { ...PLAIN, withMetadata: true };

const DURATION = /^([1-9][0-9]{0,6})([smh])$/;
const SECONDS = { s: 1, m: 60, h: 3600 } as const;

/** A longer one is no position and no connection of ours, and is not kept while the subscribe waits. */
const TEXT_MAX_CHARS = 128;

/** A sentence if a field is not of its type. */
export function subscribeOptions(fields: Readonly<Record<string, unknown>>): SubscribeOptions | string {
  const { includeSenderMetadata, recover, rewind, connection, state, occupancy, presence } = fields;
  if (!isFlag(includeSenderMetadata)) return "includeSenderMetadata: must be true or false";
  if (!isFlag(state)) return "state: must be true or false";
  if (!isFlag(occupancy)) return "occupancy: must be true or false";
  if (!isFlag(presence)) return "presence: must be true or false";
  // Almost every subscribe, when thousands of clients come back at once.
  if (recover === undefined && rewind === undefined && !state && !occupancy)
    return includeSenderMetadata ? WITH_METADATA : PLAIN;
  if (recover !== undefined && rewind !== undefined) return "recover, rewind: send at most one of them";
  const start = recover === undefined ? rewindOf(rewind) : recoverOf(recover, connection);
  if (typeof start === "string") return start;
  return {
    withMetadata: includeSenderMetadata === true,
    start,
    withStates: state === true,
    withOccupancy: occupancy === true,
    isPresent: presence !== false || occupancy !== true,
  };
}

const isFlag = (value: unknown): value is boolean | undefined => value === undefined || typeof value === "boolean";

function recoverOf(recover: unknown, connection: unknown): Start | string {
  if (typeof recover !== "string") return "recover: must be a position (`pos`)";
  if (connection !== undefined && typeof connection !== "string")
    return "connection: must be the id of the earlier connection";
  return { kind: "recover", position: kept(recover), connection: connection && kept(connection) };
}

const kept = (text: string): string => (text.length > TEXT_MAX_CHARS ? "" : text);

function rewindOf(rewind: unknown): Start | string | undefined {
  if (rewind === undefined) return undefined;
  if (typeof rewind === "number" && Number.isInteger(rewind) && rewind >= 1 && rewind <= REPLAY_MAX_MESSAGES)
    return { kind: "messages", count: rewind };
  const [, count, unit] = (typeof rewind === "string" && DURATION.exec(rewind)) || [];
  if (count === undefined || unit === undefined)
    return `rewind: must be a whole number from 1 to ${REPLAY_MAX_MESSAGES}, or a time such as "30s", "5m" or "2h"`;
  return { kind: "seconds", seconds: Number(count) * SECONDS[unit as keyof typeof SECONDS] };
}
