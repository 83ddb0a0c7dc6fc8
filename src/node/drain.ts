/** Stops a node: clients are sent elsewhere first, then each part ends after those that use it. */
import type { RunningNode } from "./start.ts";

/** One turn of the event loop. */
const ACCEPT_WAITING_MS = 1;
/** Between the end of listening and the drain: requests of connections that were just accepted arrive meanwhile. */
const LAST_REQUESTS_MS = 250;

export async function drainNode(node: RunningNode, drainMs = node.context.config.drainSeconds * 1000): Promise<void> {
  const { context, access, listeners, realtime, rooms, recordings, tails, headLimit, files } = node;
  if (context.team) {
    // Other workers listen on the same port: they get the new connections, and none is refused here.
    // The kernel resets connections that are not accepted yet: those that are waiting are accepted before the listener closes.
    await Bun.sleep(ACCEPT_WAITING_MS);
    listeners.stopAccepting();
    await Bun.sleep(Math.min(LAST_REQUESTS_MS, drainMs));
  }
  const closed = realtime.gateway.drain(drainMs);
  node.routes.endReaders();
  await closed;
  await realtime.hub.expectedBack.writeNotes();
  await node.tracker.stop();
  // Before the listeners wait for open responses, and after the closes that readers want to see.
  tails.close();
  await listeners.drain(drainMs);
  listeners.close();
  node.stopWatchingEventLoop();
  headLimit.stop();
  files.stop();
  realtime.hub.sampling.stop();
  await rooms.expiry.stop();
  // After the requests and the connections: it writes whose connections have ended.
  await node.meetings.stop();
  await node.blockSweep.stop();
  await node.sessionSweep.stop();
  await node.announcing.stop();
  await node.reporting?.stop();
  await node.clockWatch.stop();
  await node.historyTrimming.stop();
  await node.meetingRetention.stop();
  await node.sweeps.apps.stop();
  await node.sweeps.oldRows.stop();
  await node.ruleChanges.stop();
  // After the requests: it writes what they have queued.
  await access.auditTrail.stop();
  await node.backups.stop();
  await node.webhooks.stop();
  await recordings.stop();
  // Messages that wait for their store are counted when it has answered.
  await Promise.all([realtime.hub.publishing.close(), realtime.hub.writes.close()]);
  await realtime.usage.stop();
  // After everything that waits for the store: the follower notices that the store is unreachable and ends those waits.
  await realtime.storeFollower?.stop();
  // At the end: a member may have waited for its last message to be stored.
  realtime.hub.expectedBack.announceChanges();
  await realtime.hub.expectedBack.handOver();
  await realtime.engine.close();
  await context.history.close();
  await context.store.close();
}
