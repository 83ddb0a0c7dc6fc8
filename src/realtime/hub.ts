/**
 * Builds realtime/ without its frames, folder by folder: each function of build/ takes what comes from outside and the records of the
 * folders below, and returns a record of its own. No part gets the whole.
 */
import { NodeRequests } from "../engine/node-requests.ts";
import { buildConnections, type ConnectionsBuilt, type ConnectionsOutside } from "./build/connections.ts";
import { buildControl, type ControlBuilt, type ControlOutside } from "./build/control.ts";
import { type FollowOutside, followConnections, followKeyring } from "./build/follow.ts";
import { buildMessages, type MessagesBuilt, type MessagesOutside } from "./build/messages.ts";
import { buildPresence, type PresenceBuilt, type PresenceOutside } from "./build/presence.ts";
import { buildState, type StateBuilt, type StateOutside } from "./build/state.ts";
import { buildStreams, type StreamsBuilt, type StreamsOutside } from "./build/streams.ts";
import { buildSubscriptions, type SubscriptionsBuilt, type SubscriptionsOutside } from "./build/subscriptions.ts";

/** What comes from outside of realtime. */
export interface HubParts
  extends StateOutside,
    ConnectionsOutside,
    PresenceOutside,
    MessagesOutside,
    StreamsOutside,
    SubscriptionsOutside,
    ControlOutside,
    FollowOutside {}

/** The records of all folders in one, for those who build a node: each part of it is given what it uses. */
export interface Hub
  extends StateBuilt,
    ConnectionsBuilt,
    PresenceBuilt,
    MessagesBuilt,
    StreamsBuilt,
    SubscriptionsBuilt,
    ControlBuilt {
  /** What operators ask of all nodes. */
  readonly nodeRequests: NodeRequests;
}

export function buildHub(outside: HubParts): Hub {
  const nodeRequests = new NodeRequests(outside.engine, outside.id);
  const state = buildState(outside);
  const connections = buildConnections(outside, state);
  const presence = buildPresence(outside, nodeRequests, state, connections);
  const messages = buildMessages(outside, state, connections, presence);
  const streams = buildStreams(outside, nodeRequests, state, connections, messages);
  const subscriptions = buildSubscriptions(outside, state, connections, presence, streams);
  const below = { ...state, ...connections, ...presence, ...messages, ...streams, ...subscriptions };
  const control = buildControl(outside, nodeRequests, below);
  followConnections(outside, connections, presence, subscriptions, control);
  followKeyring(outside, state, streams, subscriptions, control);
  outside.engine.attach(control.engineCallbacks);
  return { nodeRequests, ...below, ...control };
}
