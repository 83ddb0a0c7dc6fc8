/** Starts a node's parts. */
import { watchEventLoop } from "../realtime/counting/metrics.ts";
import type { NodeParts } from "./build.ts";

export interface RunningNode extends NodeParts {
  readonly stopWatchingEventLoop: () => void;
}

/** What one worker does for all of them. Several may do it for a moment, and nodes without a team all do: nothing is done twice. */
async function startOnce(parts: NodeParts): Promise<void> {
  const { rooms, historyTrimming, meetingRetention, recordings, sweeps, backups, webhooks } = parts;
  // Not awaited: very many rooms may have come due while no node was running. Until they are archived they are hidden.
  void rooms.expiry.start();
  historyTrimming.start();
  meetingRetention.start();
  recordings.start();
  backups.lead();
  webhooks.leader.start();
  sweeps.apps.start();
  sweeps.oldRows.start();
}

export async function startParts(parts: NodeParts): Promise<RunningNode> {
  const { context, listeners, realtime, blockSweep, sessionSweep, headLimit, files, pipeline, routes } = parts;
  // Before the ports are open: the first request must find the keys that other nodes have made.
  await realtime.storeFollower?.start();
  await realtime.hub.expectedBack.readNotes();
  await parts.meetings.start();
  parts.tracker.start();
  listeners.listen({ routes, fallback: pipeline.notFoundHandler, websocket: realtime.handlers });
  const { team } = context;
  if (team) team.onLead(() => void startOnce(parts));
  else await startOnce(parts);
  parts.backups.watch();
  parts.ruleChanges.start(parts.access.keyring.appIds);
  blockSweep.start();
  sessionSweep.start();
  parts.announcing.start();
  parts.reporting?.start();
  parts.clockWatch.start();
  parts.access.auditTrail.start();
  headLimit.start();
  files.start();
  realtime.hub.sampling.start();
  return { ...parts, stopWatchingEventLoop: watchEventLoop(context.metrics, context.faults, context.vitals) };
}
