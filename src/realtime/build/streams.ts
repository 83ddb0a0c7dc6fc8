/** Builds channels with history: what is stored and delivered, compared with the store, replayed and read by page. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import { type AppId, appOfSpace, spaceOf } from "../../base/ids.ts";
import type { Engine } from "../../engine/engine.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import { StreamWrites } from "../../history/stream-writes.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import { partMaxBytesOf } from "../presence/rosters.ts";
import { CREATED_CHANGED, CreatedStreams, createdChanged, createdLimits } from "../streams/created.ts";
import { CreatedChanges } from "../streams/created-changes.ts";
import { CreatedPublishing } from "../streams/created-publishing.ts";
import { HistoryFrames } from "../streams/history-frames.ts";
import { HistoryPages } from "../streams/pages.ts";
import { Publishing } from "../streams/publishing.ts";
import { Replays } from "../streams/replays.ts";
import { StreamHeads } from "../streams/stream-heads.ts";
import { StreamRules } from "../streams/stream-rules.ts";
import { Streams } from "../streams/streams.ts";
import type { ConnectionsBuilt } from "./connections.ts";
import type { MessagesBuilt } from "./messages.ts";
import type { StateBuilt } from "./state.ts";

export interface StreamsOutside {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly history: HistoryStore;
  readonly keyring: Keyring;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly maxPendingBytes: number;
  /** Reads shared state, which has the rules. */
  readonly invalidated: (app?: AppId, withdrawn?: string) => Promise<void>;
  /** Calls back when what has arrived already has been read from its sockets; absent: at the end of the turn. */
  readonly defer?: (callback: () => void) => void;
}

export interface StreamsBuilt {
  readonly streams: Streams;
  readonly streamHeads: StreamHeads;
  readonly replays: Replays;
  readonly publishing: Publishing;
  readonly created: CreatedStreams;
  readonly writes: StreamWrites;
  readonly pages: HistoryPages;
  readonly historyFrames: HistoryFrames;
  readonly streamRules: StreamRules;
}

export function buildStreams(
  outside: StreamsOutside,
  nodeRequests: NodeRequests,
  { spaces }: StateBuilt,
  { connections, boundary }: ConnectionsBuilt,
  { delivery }: MessagesBuilt,
): StreamsBuilt {
  const {
    clock,
    engine,
    history,
    keyring,
    metrics,
    faults,
    maxPendingBytes,
    invalidated,
    defer = setImmediate,
  } = outside;
  const streams = new Streams({
    history,
    clock,
    engine,
    keyring,
    spaces,
    delivery,
    boundary,
    metrics,
    faults,
    defer,
  });
  const streamHeads = new StreamHeads({ history, clock, streams, spaces, boundary });
  const publishing = new Publishing({ history, streams, delivery, spaces, boundary, clock, faults, defer });
  history.onRewound(() => streamHeads.rewound());
  const writes = new StreamWrites({
    store: history.created,
    clock,
    defer: (callback) => defer(() => safely(faults, "history", callback)),
    stored: (write, written) => {
      const spaceId = spaceOf(appOfSpace(write.spaceId));
      if (written.outcome === "written") publishing.stored(spaceId, write.messages, written.appended);
      created.closed(write, written);
    },
    unconfirmed: () => metrics.unconfirmedWrites.inc(),
    failed: (error) => faults.caught("history", error),
  });
  const announce = (app: AppId, channel: string): void =>
    // Without an answer: other nodes also look at the store once a second.
    void nodeRequests.gather(CREATED_CHANGED, { app, channel }, () => true).catch(() => undefined);
  const created = new CreatedStreams({
    history,
    streams,
    spaces,
    delivery,
    writes,
    limitsOf: createdLimits(keyring),
    announce,
  });
  nodeRequests.onRequest(CREATED_CHANGED, (payload) => {
    const { app, channel } = createdChanged(payload);
    created.lookAgain(spaceOf(app), channel);
    return true;
  });
  publishing.created = new CreatedPublishing({ created, publishing, faults });
  const createdChanges = new CreatedChanges({ created: history.created, clock, streams, spaces, boundary });
  streams.onBegin(({ isCreated }) => (isCreated ? createdChanges.watch() : streamHeads.watch()));
  streams.skipUnanswered((check) => publishing.isUnanswered(check) || writes.unanswered === check);
  const pages = new HistoryPages({ history, streams, maxBytes: partMaxBytesOf(maxPendingBytes) });
  return {
    streams,
    streamHeads,
    replays: new Replays({ history, streams, clock, boundary, connections, metrics, maxPendingBytes }),
    publishing,
    created,
    writes,
    pages,
    historyFrames: new HistoryFrames({ pages, clock, boundary, metrics, maxPendingBytes }),
    streamRules: new StreamRules({ history, streams, spaces, connections, boundary, faults, invalidated }),
  };
}
