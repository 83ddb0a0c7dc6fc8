/**
 * Keeps what runs once per connect out of the last tier of the just-in-time compiler (FTL). To compile it there falls into the first
 * thousands of connects, when all clients of a node come back after a restart: without that tier, the first 5,000 connects of a process
 * took about a quarter less CPU. Such functions stay in the tier before the last (DFG).
 *
 * What runs with each message is left out: it runs often enough for the last tier to pay.
 */
import { noFTL } from "bun:jsc";
import { ChannelFrames } from "./channel-frames.ts";
import { Channels } from "./channels.ts";
import { ConnectCosts } from "./connect-costs.ts";
import { Connections } from "./connections.ts";
import { Damping } from "./damping.ts";
import { Deadlines } from "./deadlines.ts";
import { EventRing } from "./event-ring.ts";
import { Gates } from "./gates.ts";
import { Gateway } from "./gateway.ts";
import { Lingering } from "./lingering/lingering.ts";
import { Returns } from "./lingering/returns.ts";
import { Liveness } from "./liveness.ts";
import { Member } from "./member.ts";
import { Presence } from "./presence.ts";
import { PresenceWriter } from "./presence-writer.ts";
import { Recorder } from "./recorder.ts";
import { RosterQueue } from "./roster-queue.ts";
import { SocketHandlers } from "./socket-handlers.ts";
import { Subscription } from "./subscription.ts";

const CLASSES = [
  Channels,
  ChannelFrames,
  ConnectCosts,
  Connections,
  Damping,
  Deadlines,
  EventRing,
  Gates,
  Gateway,
  Lingering,
  Liveness,
  Member,
  Presence,
  PresenceWriter,
  Recorder,
  Returns,
  RosterQueue,
  SocketHandlers,
  Subscription,
];

/** Methods of these classes that run with each message. */
const WITH_MESSAGES: ReadonlySet<unknown> = new Set([
  Presence.prototype.beforeMessage,
  Presence.prototype.beforeDirect,
  Presence.prototype.announcePending,
]);

export function keepConnectsFromLastTier(): void {
  for (const { prototype } of CLASSES)
    for (const { value, get, set } of Object.values(Object.getOwnPropertyDescriptors(prototype)))
      for (const part of [value, get, set]) if (typeof part === "function" && !WITH_MESSAGES.has(part)) noFTL(part);
}
