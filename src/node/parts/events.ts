/** Builds the connections over HTTP of a node, which realtime takes for sockets. */
import type { EventSessionNames } from "../../access/tokens/event-session.ts";
import type { Clock } from "../../base/clock.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import type { RealtimeMetrics } from "../../realtime/counting/metrics.ts";
import { EventForwards } from "../../realtime/event-sockets/event-forwards.ts";
import { EventSessions } from "../../realtime/event-sockets/event-sessions.ts";
import type { EventTopics } from "../../realtime/event-sockets/event-topics.ts";
import { EventWriter } from "../../realtime/event-sockets/event-writer.ts";
import type { SocketEvents } from "../../realtime/frames/socket-handlers.ts";
import type { NodeContext } from "./context.ts";

export interface Events {
  readonly sessions: EventSessions;
  readonly forwards: EventForwards;
  readonly names: EventSessionNames;
}

interface EventsOutside extends Pick<NodeContext, "config" | "faults" | "metrics"> {
  readonly names: EventSessionNames;
  readonly topics: EventTopics;
  readonly handlers: SocketEvents;
  readonly realtimeMetrics: RealtimeMetrics;
  readonly nodeRequests: NodeRequests;
  readonly clock: Clock;
}

export function buildEvents(outside: EventsOutside): Events {
  const { config, faults, metrics, names, topics, handlers, realtimeMetrics, nodeRequests, clock } = outside;
  const sessions = new EventSessions({
    node: nodeRequests.self,
    names,
    topics,
    writer: new EventWriter({ clock, faults }),
    handlers,
    metrics: realtimeMetrics,
    faults,
    maxPendingBytes: config.maxPendingBytes,
    clock,
  });
  metrics.gauge(
    "parley_http_connections",
    "Open connections over HTTP; parley_connections counts them too.",
    () => sessions.count,
  );
  return { sessions, forwards: new EventForwards({ nodeRequests, sessions, names, clock }), names };
}
