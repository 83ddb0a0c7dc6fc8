/** What a grant permits on channels: the checks of a frame, in the order of the protocol (section 2). */
import type { ActionSet } from "../protocol/actions.ts";
import type { Scope } from "../protocol/glob.ts";
import { isChannelName, isReserved } from "../protocol/names.ts";
import type { Grant } from "./admit.ts";

/** A connection has these fields itself. They change when its key is edited. */
export interface Permissions {
  readonly keyScope: Scope;
  /** The token's own claims; undefined where the key's apply. */
  readonly tokenScope: Scope | undefined;
  readonly tokenActions: ActionSet | undefined;
  /** What both permit. */
  readonly actions: ActionSet;
}

/** The actions that both the token and the key permit. */
export const actionsOf = (tokenActions: ActionSet | undefined, key: Grant["key"]): ActionSet =>
  tokenActions === undefined ? key.actions : tokenActions & key.actions;

export const permissionsOf = ({ key, tokenScope, tokenActions }: Grant): Permissions => ({
  keyScope: key.scope,
  tokenScope,
  tokenActions,
  actions: actionsOf(tokenActions, key),
});

export const permits = ({ actions }: Permissions, action: ActionSet): boolean => (actions & action) !== 0;

/** Whether both the token and the key cover the channel. */
export const covers = ({ keyScope, tokenScope }: Permissions, channel: string): boolean =>
  keyScope.matches(channel) && (tokenScope === undefined || tokenScope.matches(channel));

export type ChannelRefusal = "invalid_channel" | "channel_reserved" | "action_not_permitted" | "channel_not_authorized";

/** Why a frame for this channel is refused; undefined if it is not. `isHeld`: a subscription covers the channel already. */
export function channelRefusal(
  channel: string,
  action: ActionSet,
  permissions: Permissions,
  isHeld: boolean,
): ChannelRefusal | undefined {
  if (!isChannelName(channel)) return "invalid_channel";
  if (isReserved(channel)) return "channel_reserved";
  if (!permits(permissions, action)) return "action_not_permitted";
  return isHeld || covers(permissions, channel) ? undefined : "channel_not_authorized";
}

/** Whether the token or the key is too narrow: they are changed in different places. */
export const narrowForChannel = ({ keyScope }: Permissions, channel: string): "token" | "key" =>
  keyScope.matches(channel) ? "token" : "key";

export const narrowForAction = ({ tokenActions }: Permissions, action: ActionSet): "token" | "key" =>
  tokenActions !== undefined && (tokenActions & action) === 0 ? "token" : "key";
