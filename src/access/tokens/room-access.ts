/** What a connection of a room may do: pairs of a channel, or of what channels begin with, and the actions on it. */
import { type ActionSet, actionSet } from "../../protocol/actions.ts";
import type { Code } from "../../protocol/codes.ts";
import {
  adminChannel,
  chatChannel,
  inboxChannel,
  reactionsChannel,
  roomChannel,
  waitChannel,
} from "../../protocol/room-channels.ts";

export interface RoomPair {
  readonly channel: string;
  /** The channel is what names begin with. */
  readonly isPrefix?: true;
  readonly actions: ActionSet;
}

const SUBSCRIBE = actionSet(["subscribe"]);
const PUBLISH = actionSet(["publish"]);
const MEMBER = actionSet(["subscribe", "presence"]);

export class RoomAccess {
  /** On all channels together. */
  readonly actions: ActionSet;

  constructor(readonly pairs: readonly RoomPair[]) {
    this.actions = pairs.reduce((all, { actions }) => all | actions, 0);
  }

  /** The actions on one channel. */
  on(channel: string): ActionSet {
    let found = 0;
    for (const { channel: name, isPrefix, actions } of this.pairs)
      if (isPrefix ? channel.startsWith(name) : channel === name) found |= actions;
    return found;
  }
}

/** Why a connection of a room may not do what its access alone would allow. */
export interface RoomRefusal {
  readonly code: Code;
  readonly message?: string | undefined;
}

export interface StayRights {
  readonly isAdmin: boolean;
  readonly mayChat: boolean;
}

/** A participant who is inside. */
export const stayAccess = (room: string, participantSession: string, { isAdmin, mayChat }: StayRights): RoomAccess =>
  new RoomAccess([
    { channel: roomChannel(room), actions: MEMBER },
    { channel: chatChannel(room), actions: mayChat ? SUBSCRIBE | PUBLISH : SUBSCRIBE },
    { channel: reactionsChannel(room), actions: SUBSCRIBE | PUBLISH },
    { channel: inboxChannel(room), isPrefix: true, actions: PUBLISH },
    { channel: inboxChannel(room, participantSession), actions: SUBSCRIBE },
    ...(isAdmin ? [{ channel: adminChannel(room), actions: SUBSCRIBE }] : []),
  ]);

/** A visitor in the lobby. */
export const waitAccess = (room: string, waitId: string): RoomAccess =>
  new RoomAccess([{ channel: waitChannel(room, waitId), actions: SUBSCRIBE }]);
