/**
 * The `history` frames of connections: one at a time per connection, with a rate of their own, because each may read a megabyte from
 * the store. A page waits until the client has read enough of what was sent before.
 */
import type { Clock } from "../../base/clock.ts";
import { bitOf } from "../../protocol/actions.ts";
import type { Code } from "../../protocol/codes.ts";
import * as encode from "../../protocol/encode.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Connection } from "../state/connection.ts";
import type { HistoryRequests } from "../state/connection-extras.ts";
import { HISTORY_FRAMES_BURST, HISTORY_FRAMES_PER_SECOND } from "./limits.ts";
import type { HistoryPageRequest } from "./page-request.ts";
import type { HistoryPages } from "./pages.ts";
import { HISTORY_AWAY, notHere } from "./texts.ts";

export interface HistoryRequest extends HistoryPageRequest {
  readonly channel: string;
  readonly requestId: string | undefined;
}

interface HistoryFramesParts {
  readonly pages: HistoryPages;
  readonly clock: Clock;
  readonly boundary: Boundary;
  readonly metrics: RealtimeMetrics;
  readonly maxPendingBytes: number;
}

const SUBSCRIBE = bitOf("subscribe");

type Refuse = (code: Code, message?: string) => void;

const RATE_EXCEEDED = `Send at most ${HISTORY_FRAMES_PER_SECOND} history frames per second. Wait a moment.`;
/** How often a page that waits for its client is tried again. */
const CHECK_EVERY_MS = 50;

export class HistoryFrames {
  constructor(private readonly parts: HistoryFramesParts) {}

  request(connection: Connection, request: HistoryRequest, refuse: Refuse): void {
    const requests = this.requestsOf(connection);
    if (requests.left < 1 || requests.waiting.length >= HISTORY_FRAMES_BURST)
      return refuse("rate_limited", RATE_EXCEEDED);
    requests.left--;
    const run = (): void => {
      this.answer(connection, request, refuse)
        .catch((error) => this.parts.boundary.connectionFailed("history", connection, error))
        .finally(() => {
          const next = requests.waiting.shift();
          if (next && connection.open) next();
          else requests.isBusy = false;
        });
    };
    if (requests.isBusy) return void requests.waiting.push(run);
    requests.isBusy = true;
    run();
  }

  private async answer(connection: Connection, request: HistoryRequest, refuse: Refuse): Promise<void> {
    const { pages, metrics } = this.parts;
    const { channel, requestId } = request;
    let page: Awaited<ReturnType<HistoryPages["page"]>>;
    try {
      page = await pages.page(connection.peer.space.id, channel, request, connection);
    } catch {
      return refuse("backend_error", HISTORY_AWAY);
    }
    if (page === "not here") return refuse("malformed_message", notHere(request));
    // The key may have changed while the store was read.
    if (!connection.mayOn(SUBSCRIBE, channel)) return refuse("action_not_permitted");
    if (!connection.covers(channel)) return refuse("channel_not_authorized");
    const text = encode.history(requestId, JSON.stringify(channel), page?.fields ?? '"messages":[],"more":false');
    const roomBytes = this.parts.maxPendingBytes - Buffer.byteLength(text);
    while (connection.open && connection.socket.getBufferedAmount() > Math.max(0, roomBytes))
      await new Promise<void>((resolve) => this.parts.clock.after(CHECK_EVERY_MS, resolve));
    if (!connection.open) return;
    metrics.historyFrames.inc();
    connection.socket.send(text);
  }

  private requestsOf(connection: Connection): HistoryRequests {
    const nowMs = this.parts.clock.monotonicMs();
    const { withExtras } = connection;
    withExtras.historyRequests ??= { left: HISTORY_FRAMES_BURST, refilledMs: nowMs, isBusy: false, waiting: [] };
    const requests = withExtras.historyRequests;
    const refilled = ((nowMs - requests.refilledMs) / 1000) * HISTORY_FRAMES_PER_SECOND;
    requests.left = Math.min(HISTORY_FRAMES_BURST, requests.left + refilled);
    requests.refilledMs = nowMs;
    return requests;
  }
}
