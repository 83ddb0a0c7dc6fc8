/** Builds what the engine has from `attach` on, in the order of the folders: each part is given what it uses. */
import { ControlMessages } from "./control-messages.ts";
import { DirectMessages } from "./direct-messages/direct-messages.ts";
import { ExpectedPeers } from "./direct-messages/expected-peers.ts";
import type { PendingDirectMessages } from "./direct-messages/pending-messages.ts";
import { DirectSends } from "./direct-messages/sends.ts";
import type { NodeCallbacks } from "./nodes/callbacks.ts";
import type { FailureBoundary } from "./nodes/failure-boundary.ts";
import { Heartbeats } from "./nodes/heartbeats.ts";
import { Nodes, type OtherNode } from "./nodes/nodes.ts";
import { OtherWires } from "./nodes/other-wires.ts";
import { CapacityClaims } from "./requests/capacity-claims.ts";
import { NodeTexts } from "./requests/node-texts.ts";
import type { PendingRequests } from "./requests/pending-requests.ts";
import { Requests } from "./requests/requests.ts";
import { Responder } from "./responder.ts";
import { Announcements } from "./sequences/announcements.ts";
import { ChannelSubscriptions } from "./sequences/channel-subscriptions.ts";
import { Openings } from "./sequences/openings.ts";
import { OutgoingSequences } from "./sequences/outgoing-sequences.ts";
import { SequenceStateResponder } from "./sequences/state-responder.ts";
import { Ticker } from "./ticker.ts";
import type { AboutNode } from "./wire/messages.ts";
import { Subjects } from "./wire/subjects.ts";
import type { Wire } from "./wire/wire.ts";

interface AttachedOutside {
  readonly local: NodeCallbacks;
  /** Separates installations that share one transport. */
  readonly prefix: string;
  readonly wire: Wire;
  readonly nowMs: () => number;
  readonly heartbeatMs: number;
  readonly about: AboutNode | undefined;
  readonly pendingRequests: PendingRequests;
  readonly pendingDirectMessages: PendingDirectMessages;
  readonly boundary: FailureBoundary;
  readonly warn: (text: string) => void;
  readonly isUp: () => boolean;
  readonly isClosed: () => boolean;
  readonly appeared: (node: OtherNode) => void;
  readonly gone: (node: OtherNode) => void;
}

export interface Attached {
  readonly local: NodeCallbacks;
  readonly subjects: Subjects;
  readonly outgoing: OutgoingSequences;
  readonly announcements: Announcements;
  readonly nodes: Nodes;
  readonly otherWires: OtherWires;
  readonly requests: Requests;
  readonly openings: Openings;
  readonly sequenceStates: SequenceStateResponder;
  readonly subscriptions: ChannelSubscriptions;
  readonly directMessages: DirectMessages;
  readonly expectedPeers: ExpectedPeers;
  readonly directSends: DirectSends;
  readonly claims: CapacityClaims;
  readonly heartbeats: Heartbeats;
  readonly control: ControlMessages;
  readonly ticker: Ticker;
  readonly texts: NodeTexts;
}

export function buildAttached(outside: AttachedOutside): Attached {
  const { local, prefix, wire, nowMs, heartbeatMs, about, pendingRequests, pendingDirectMessages, boundary } = outside;
  const { warn, isUp, isClosed, appeared, gone } = outside;
  const self = local.id;
  let lastNumber = 0;
  const nextNumber = (): number => ++lastNumber;
  const otherWires = new OtherWires({ heartbeatMs, nowMs, warn });
  const unexpected = (where: string, text: string): void => {
    if (!otherWires.notes(text)) warn(`ignored a message that no node has sent, ${where}`);
  };
  const unexpectedToPeer = (text: string): void => unexpected("to a peer", text);
  const later = (run: () => void, ms: number): void =>
    void setTimeout(() => isClosed() || boundary.run({ in: "timer", step: "streams" }, run), ms);
  const subjects = new Subjects(prefix, self, wire.isPrivate);
  const nodes = new Nodes({ self, heartbeatMs, nowMs, appeared, gone });
  const heartbeats = new Heartbeats({ local, wire, subjects, nodes, boundary, heartbeatMs, nowMs, about, later });
  const requests = new Requests({ self, wire, subjects, nodes, pending: pendingRequests, nextNumber, boundary });
  const claims = new CapacityClaims(self, (app) => local.localConnections(app), nowMs);
  const texts = new NodeTexts({ local, wire, subjects, nodes, requests, boundary, later, warn });
  const outgoing = new OutgoingSequences(self, (...name) => subjects.channel(...name), nowMs, wire.reportsLosses);
  const announcements = new Announcements(
    outgoing,
    (subject, item) => isUp() && wire.publish(subject, item),
    wire.format,
  );
  const openings = new Openings({ wire, subjects, nodes, requests, boundary, nowMs });
  const subscriptions = new ChannelSubscriptions({
    local,
    wire,
    subjects,
    nodes,
    requests,
    openings,
    warn,
    unexpected,
    heartbeatMs,
    nowMs,
  });
  const sequenceStates = new SequenceStateResponder({ local, outgoing, format: wire.format, boundary, nowMs, later });
  const expectedPeers = new ExpectedPeers({ local, wire, subjects, nodes, unexpected: unexpectedToPeer });
  const directMessages = new DirectMessages({
    local,
    wire,
    subjects,
    nodes,
    unexpected: unexpectedToPeer,
    expectedPeers,
    boundary,
    nowMs,
  });
  const responder = new Responder({
    local,
    outgoing,
    directMessages,
    claims,
    boundary,
    sequenceStates,
    texts,
    heartbeats,
  });
  const control = new ControlMessages({
    wire,
    local,
    nodes,
    heartbeats,
    subscriptions,
    responder,
    requests,
    pendingRequests,
    pendingDirectMessages,
    boundary,
    unexpected,
  });
  const directSends = new DirectSends({ local, wire, subjects, control, pendingDirectMessages, nextNumber, nowMs });
  const ticker = new Ticker({
    wire,
    local,
    nodes,
    otherWires,
    heartbeats,
    claims,
    pendingRequests,
    openings,
    control,
    outgoing,
    subscriptions,
    boundary,
  });
  return {
    local,
    subjects,
    outgoing,
    announcements,
    nodes,
    otherWires,
    requests,
    openings,
    sequenceStates,
    subscriptions,
    directMessages,
    expectedPeers,
    directSends,
    claims,
    heartbeats,
    control,
    ticker,
    texts,
  };
}
