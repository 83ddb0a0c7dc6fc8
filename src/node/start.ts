/** Starts a node's parts. */
import { watchEventLoop } from "../realtime/metrics.ts";
import type { NodeParts } from "./build.ts";

export interface RunningNode extends NodeParts {
  readonly stopWatchingEventLoop: () => void;
}

export async function startParts(parts: NodeParts): Promise<RunningNode> {
  const { context, listeners, realtime, rooms, recordings, blockSweep, sessionSweep, headLimit, pipeline, routes } =
    parts;
  // Before the ports are open: the first request must find the keys that other nodes have made.
  await realtime.storeFollower?.start();
  await realtime.hub.notes.readNewest();
  await parts.meetings.start();
  listeners.listen({ routes, fallback: pipeline.notFoundHandler, websocket: realtime.handlers });
  await rooms.expiry.start();
  parts.ruleChanges.start(parts.access.keyring.appIds);
  parts.historyTrimming.start();
  parts.meetingRetention.start();
  blockSweep.start();
  sessionSweep.start();
  parts.access.auditTrail.start();
  recordings.start();
  headLimit.start();
  realtime.hub.sampling.start();
  return { ...parts, stopWatchingEventLoop: watchEventLoop(context.metrics, context.faults, context.vitals) };
}
