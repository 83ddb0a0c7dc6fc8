/** What a grant permits on channels: the checks of a frame, in the order of the protocol (section 2). */
import type { ActionSet } from "../../protocol/actions.ts";
import { isChannelName, isReserved } from "../../protocol/names.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import type { RoomSeat } from "../tokens/room-token.ts";
import type { Grant, KeyGrant } from "./admit.ts";

/** A connection has these fields itself. They change when its key is edited. */
export interface Permissions {
  readonly keyScope: Scope;
  /** The token's own claims; undefined where the key's apply. */
  readonly tokenScope: Scope | undefined;
  readonly tokenActions: ActionSet | undefined;
  /** What both permit; with a seat, what it permits on all of its channels together. */
  readonly actions: ActionSet;
  /** A place in a room: then only its own pairs of channel and actions count. */
  readonly seat: RoomSeat | undefined;
}

/** The actions that both the token and the key permit. */
export const actionsOf = (tokenActions: ActionSet | undefined, key: KeyGrant["key"]): ActionSet =>
  tokenActions === undefined ? key.actions : tokenActions & key.actions;

/** A seat has its own channels. */
export const NO_PATTERNS: Scope = new Scope([]);

export function permissionsOf(grant: Grant): Permissions {
  const { seat } = grant;
  if (seat)
    return {
      keyScope: NO_PATTERNS,
      tokenScope: undefined,
      tokenActions: undefined,
      actions: seat.access.actions,
      seat,
    };
  const { key, tokenScope, tokenActions } = grant;
  return { keyScope: key.scope, tokenScope, tokenActions, actions: actionsOf(tokenActions, key), seat };
}

export const permits = ({ actions }: Permissions, action: ActionSet): boolean => (actions & action) !== 0;

/** The same on a channel that is covered: only a seat has other actions on other channels. */
export const permitsOn = ({ actions, seat }: Permissions, action: ActionSet, channel: string): boolean =>
  ((seat ? seat.access.on(channel) : actions) & action) !== 0;

/** Whether both the token and the key cover the channel. */
export const covers = ({ keyScope, tokenScope, seat }: Permissions, channel: string): boolean =>
  seat
    ? seat.access.on(channel) !== 0
    : keyScope.matches(channel) && (tokenScope === undefined || tokenScope.matches(channel));

export type ChannelRefusal = "invalid_channel" | "channel_reserved" | "action_not_permitted" | "channel_not_authorized";

/** Why a frame for this channel is refused; undefined if it is not. `isSubscribed`: a subscription covers the channel already. */
export function channelRefusal(
  channel: string,
  action: ActionSet,
  permissions: Permissions,
  isSubscribed: boolean,
): ChannelRefusal | undefined {
  if (!isChannelName(channel)) return "invalid_channel";
  if (permissions.seat) return seatRefusal(channel, action, permissions.seat);
  if (isReserved(channel)) return "channel_reserved";
  if (!permits(permissions, action)) return "action_not_permitted";
  return isSubscribed || covers(permissions, channel) ? undefined : "channel_not_authorized";
}

/** The channels of rooms have reserved names. What is subscribed widens nothing: a room's inboxes are written by many and read by one. */
function seatRefusal(channel: string, action: ActionSet, { access }: RoomSeat): ChannelRefusal | undefined {
  const actions = access.on(channel);
  if (actions === 0) return "channel_not_authorized";
  return (actions & action) === 0 ? "action_not_permitted" : undefined;
}

/** Whether the token or the key is too narrow: they are changed in different places. */
export const narrowForChannel = ({ keyScope, seat }: Permissions, channel: string): "token" | "key" =>
  seat || keyScope.matches(channel) ? "token" : "key";

export const narrowForAction = ({ tokenActions, seat }: Permissions, action: ActionSet): "token" | "key" =>
  seat || (tokenActions !== undefined && (tokenActions & action) === 0) ? "token" : "key";
