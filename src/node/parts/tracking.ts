/** Joins webhooks to realtime: what a node keeps of its connections and members while endpoints ask for it, and quotas that are used up. */
import { type AppId, spaceOf } from "../../base/ids.ts";
import type { ConnectionObserver } from "../../realtime/connections/connections.ts";
import type { Hub } from "../../realtime/hub.ts";
import type { Connection } from "../../realtime/state/connection.ts";
import type { Member } from "../../realtime/state/member.ts";
import type { MemberWatcher } from "../../realtime/state/member-watcher.ts";
import type { Store } from "../../store/contract/store.ts";
import type { OpenedConnection } from "../../store/contract/tracking.ts";
import type { AskingBook } from "../../webhooks/tracking/asked.ts";
import type { MemberName, ShownMember, TrackingSource } from "../../webhooks/tracking/source.ts";
import { Tracker } from "../../webhooks/tracking/tracker.ts";
import type { NodeContext } from "./context.ts";
import type { Realtime } from "./realtime.ts";

interface TrackingParts extends Pick<NodeContext, "log" | "metrics"> {
  readonly store: Pick<Store, "tracking">;
  readonly realtime: Pick<Realtime, "hub" | "clock" | "usage">;
  readonly webhookBook: AskingBook;
}

/** Started before the node has connections, and stopped after it has closed them. */
export function buildTracking({ store, log, metrics, realtime, webhookBook: book }: TrackingParts): Tracker {
  const { hub, clock, usage } = realtime;
  const follower = new Follower();
  const tracker = new Tracker({
    store: store.tracking,
    book,
    source: new RealtimeSource(hub, clock.wallMs, clock.steadyMs),
    clock,
    log,
    untracked: metrics.counter(
      "parley_webhook_untracked_total",
      "Connections and memberships without webhook events, because an application has too many.",
    ),
    listening: (isListening) => {
      follower.tracker = isListening ? tracker : undefined;
      hub.spaces.memberWatcher = isListening ? follower : undefined;
    },
  });
  hub.connections.observe(follower);
  usage.reached.listener = async (app, kind, limit, period) => {
    await store.tracking.quotaReached(app, kind, limit, period, clock.wallMs());
  };
  return tracker;
}

/** One comparison for each connection, as long as no endpoint of any application asks. */
class Follower implements ConnectionObserver, MemberWatcher {
  tracker: Tracker | undefined;

  connected(connection: Connection): void {
    this.tracker?.opened(connection.peer.space.id, connection);
  }

  disconnected(connection: Connection, code: number, reason: string): void {
    this.tracker?.closed(connection.peer.space.id, connection, code, reason);
  }

  changed({ channel, peer }: Member): void {
    this.tracker?.memberChanged(channel.space.id, channel.name, peer.peerId);
  }
}

class RealtimeSource implements TrackingSource {
  constructor(
    private readonly hub: Hub,
    private readonly wallMs: () => number,
    private readonly steadyMs: () => number,
  ) {}

  connections(app: AppId): Iterator<OpenedConnection> {
    const found: Connection[] = [];
    for (const { connections } of this.hub.spaces.get(spaceOf(app))?.peers.values() ?? []) found.push(...connections);
    return opened(app, found, this.wallMs());
  }

  members(app: AppId, isAsked: (channel: string) => boolean): Iterator<MemberName> {
    const found: MemberName[] = [];
    for (const { name, members } of this.hub.spaces.get(spaceOf(app))?.channels.values() ?? [])
      if (isAsked(name)) for (const { peer } of members.values()) found.push({ channel: name, peerId: peer.peerId });
    return found.values();
  }

  /** Members that others know through another node are rows of that node. */
  member(app: AppId, { channel, peerId }: MemberName): ShownMember | undefined {
    const member = this.hub.spaces.channel(spaceOf(app), channel)?.members.get(peerId);
    const connected = member?.local();
    const state = connected ?? member?.lingeringState?.state;
    if (!state) return undefined;
    const { metadataJson = null, lingers } = state;
    const untilMs = lingers?.untilMs ?? 0;
    const expectedMs = connected ? undefined : Math.max(0, untilMs - this.steadyMs());
    return { metadataJson, expectedMs };
  }
}

/** `connectedMs` is unique, and may be a little ahead of the clock. */
function* opened(app: AppId, connections: readonly Connection[], nowMs: number): Generator<OpenedConnection> {
  for (const { open, id, peerId, keyId, metadataJson = null, connectedMs } of connections)
    if (open) yield { id, app, peerId, keyId, metadataJson, opened: Math.min(connectedMs, nowMs) };
}
