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

const DURATION = /^([1-9][0-9]{0,6})([smh])$/;
const SECONDS = { s: 1, m: 60, h: 3600 } as const;

/** `undefined`: a field is not of its type. */
export function subscribeOptions(fields: Readonly<Record<string, unknown>>): SubscribeOptions | undefined {
  const { includeSenderMetadata, recover, rewind, connection, state, occupancy, presence } = fields;
  if (![includeSenderMetadata, state, occupancy, presence].every(isFlag)) return undefined;
  if (recover !== undefined && rewind !== undefined) return undefined;
  const start = recover === undefined ? rewindOf(rewind) : recoverOf(recover, connection);
  if (start === "malformed") return undefined;
  return {
    withMetadata: includeSenderMetadata === true,
    start,
    withStates: state === true,
    withOccupancy: occupancy === true,
    isPresent: presence !== false || occupancy !== true,
  };
}

const isFlag = (value: unknown): value is boolean | undefined => value === undefined || typeof value === "boolean";

function recoverOf(recover: unknown, connection: unknown): Start | "malformed" {
  if (typeof recover !== "string") return "malformed";
  if (connection !== undefined && typeof connection !== "string") return "malformed";
  return { kind: "recover", position: recover, connection };
}

function rewindOf(rewind: unknown): Start | undefined | "malformed" {
  if (rewind === undefined) return undefined;
  if (typeof rewind === "number")
    return Number.isInteger(rewind) && rewind >= 1 && rewind <= REPLAY_MAX_MESSAGES
      ? { kind: "messages", count: rewind }
      : "malformed";
  const [, count, unit] = (typeof rewind === "string" && DURATION.exec(rewind)) || [];
  if (count === undefined || unit === undefined) return "malformed";
  return { kind: "seconds", seconds: Number(count) * SECONDS[unit as keyof typeof SECONDS] };
}
