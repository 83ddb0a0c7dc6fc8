/**
 * Subscriptions that begin with earlier messages of their channel. The ack says how many follow; then they are written, and when the
 * subscription has caught up with the stream it joins the topic, in the same turn: nothing is missed and nothing comes twice.
 *
 * A replay keeps only its place in the stream: messages are taken from the ring, or read from the store again. It waits while half
 * of what may wait for a connection does, and is cut if it is not live in time, or if what it needs was removed meanwhile. All of
 * them together take a few milliseconds of each turn of the process (pacer.ts).
 */
import type { Clock } from "../../base/clock.ts";
import type { HistoryStore, StoredMessage } from "../../history/contract/history.ts";
import { RESYNC } from "../../protocol/close.ts";
import * as encode from "../../protocol/encode.ts";
import { REPLAY_MAX_MS } from "../../protocol/limits.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import { positionText } from "../../protocol/position.ts";
import { shownOf } from "../../protocol/streams/data.ts";
import type { Start } from "../../protocol/subscribe-options.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Connections } from "../connections/connections.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Connection } from "../state/connection.ts";
import { Replay } from "../state/replay.ts";
import type { Stream } from "../state/stream.ts";
import type { Subscription } from "../state/subscription.ts";
import { READ_MAX_BYTES, READ_MAX_MESSAGES, REPLAY_SLICE_BYTES, REPLAY_SLICE_MESSAGES } from "./limits.ts";
import { Pacer } from "./pacer.ts";
import { type Beginning, Recovery } from "./recovery.ts";
import type { Streams } from "./streams.ts";

interface ReplaysParts {
  readonly history: HistoryStore;
  readonly streams: Streams;
  readonly clock: Clock;
  readonly boundary: Boundary;
  readonly connections: Connections;
  readonly metrics: RealtimeMetrics;
  readonly maxPendingBytes: number;
}

/** What the channels do for a replay. */
export interface ReplaySteps {
  /** Acks the subscribe; `fields`: more members of the ack. */
  acknowledge(fields: string): void;
  /** Puts the subscription on its topic. */
  goLive(): void;
  /** The store is unavailable. */
  refuse(): void;
}

/** How often replays that wait for their client or for the store are tried again. */
const CHECK_EVERY_MS = 250;

export class Replays {
  /** Bound: subscriptions that have not caught up, each for REPLAY_MAX_MS. */
  private readonly active = new Map<Replay, ReplaySteps>();
  private readonly recovery: Recovery;
  private readonly pacer: Pacer;
  private isTimerSet = false;

  constructor(private readonly parts: ReplaysParts) {
    const { history, streams, clock } = parts;
    this.recovery = new Recovery({ history, streams, clock });
    this.pacer = new Pacer(streams.loopShare, (replay) => this.work(replay));
  }

  get count(): number {
    return this.active.size;
  }

  /** A new subscription that begins with earlier messages. */
  begin(subscription: Subscription, start: Start): void {
    subscription.replay = new Replay(subscription, start);
  }

  /** The stream is open: decides from where the subscription begins, when it is its turn. */
  start(replay: Replay, stream: Stream, steps: ReplaySteps): void {
    this.active.set(replay, steps);
    this.watch();
    replay.begin = () => this.decide(replay, stream, steps);
    this.pacer.add(replay);
  }

  /** The subscription has ended, or is live. */
  end(replay: Replay): void {
    this.active.delete(replay);
    this.pacer.remove(replay);
    replay.end();
  }

  /** A client has read what was waiting for it. */
  onDrained(connection: Connection): void {
    if (this.active.size === 0) return;
    for (const { replay } of connection.subscriptions) if (replay) this.goOn(replay);
  }

  private work(replay: Replay): boolean {
    const { begin } = replay;
    if (!begin) return this.pump(replay);
    replay.begin = undefined;
    replay.untilMs = this.parts.clock.monotonicMs() + REPLAY_MAX_MS;
    begin();
    return false;
  }

  private decide(replay: Replay, stream: Stream, steps: ReplaySteps): void {
    this.recovery.decide(replay, stream, (beginning) => {
      // The subscription has ended, and its client has its answers.
      if (replay.stage !== "deciding") return;
      if (beginning === "unavailable") return this.forConnection(replay, () => steps.refuse());
      // A stream that has begun anew has closed its subscribers.
      if (replay.subscription.channel.stream === stream)
        this.forConnection(replay, () => this.follow(replay, stream, beginning));
    });
  }

  private follow(replay: Replay, stream: Stream, beginning: Beginning): void {
    const { metrics } = this.parts;
    const { cursor, check, upTo, upToCheck, count, isRecovered, buffer } = beginning;
    replay.stage = "following";
    replay.upTo = upTo;
    replay.buffer = buffer ?? [];
    (isRecovered ? metrics.recovered : metrics.notRecovered).inc();
    metrics.replayed.inc(count);
    const pos = positionText({ epoch: stream.epoch, offset: upTo, check: upToCheck });
    const steps = this.active.get(replay);
    replay.subscription.connection.socket.cork(() => {
      steps?.acknowledge(`,"pos":"${pos}","recovered":${isRecovered},"replay":${count}`);
      replay.passTo(cursor, check);
      for (const run of replay.whenAcked.splice(0)) run();
      if (this.writeSome(replay)) this.pacer.add(replay);
    });
  }

  /** Something has happened that may let it write more. */
  private goOn(replay: Replay): void {
    if (replay.stage === "following" && !replay.isReading && this.hasRoom(replay, replay.neededBytes))
      this.pacer.add(replay);
  }

  /** Writes what may be written now. Returns true if there is more. */
  private pump(replay: Replay): boolean {
    const { connection } = replay.subscription;
    if (!connection.open || !this.hasRoom(replay, replay.neededBytes)) {
      replay.buffer = [];
      return false;
    }
    let hasMore = false;
    this.forConnection(replay, () =>
      connection.socket.cork(() => {
        hasMore = this.writeSome(replay);
      }),
    );
    return hasMore;
  }

  private writeSome(replay: Replay): boolean {
    const { stream } = replay.subscription.channel;
    if (replay.stage !== "following" || !stream?.isOpen) return false;
    let messages = 0;
    let bytes = 0;
    for (;;) {
      if (replay.cursor >= stream.delivered) {
        this.goLive(replay);
        return false;
      }
      const { buffered } = replay;
      // What was read from the store is written or dropped at once: it would be too much memory if many waited with theirs.
      if (!buffered && (messages >= REPLAY_SLICE_MESSAGES || bytes >= REPLAY_SLICE_BYTES)) {
        replay.buffer = [];
        return true;
      }
      const message = stream.ring.at(replay.cursor + 1) ?? buffered;
      if (!message) {
        if (this.hasRoom(replay, 0)) void this.read(replay, stream);
        return false;
      }
      if (!this.write(replay, message, stream)) return false;
      messages++;
      bytes += message.bytes;
    }
  }

  /** Returns false if the connection must read first, or has ended. */
  private write(replay: Replay, message: StoredMessage, { epoch, form }: Stream): boolean {
    const { connection, channel, withMetadata } = replay.subscription;
    const { offset, check, time, from, metadataJson, id } = message;
    if (!connection.open) return false;
    // What this connection itself has published is left out as well.
    if (message.connection === undefined || !replay.leavesOut(message.connection)) {
      const { dataJson, isBase64 } = shownOf(message.dataJson, form);
      const fields = `${encode.storedFields({ epoch, offset, check }, time, id)}${isBase64 ? encode.BASE64_FIELD : ""}`;
      const text = encode.message(
        channel.json,
        JSON.stringify(from),
        withMetadata ? metadataJson : undefined,
        dataJson,
        offset <= replay.upTo ? `${fields},"replay":true` : fields,
      );
      const bytes = utf8Bytes(text);
      if (!this.hasRoom(replay, bytes)) {
        // Not in memory: it is read again when the client has read.
        replay.buffer = [];
        replay.neededBytes = bytes;
        return false;
      }
      replay.neededBytes = 0;
      connection.socket.send(text);
      this.parts.metrics.messages.inc();
      const { counters } = channel.space;
      counters.deliveries++;
      counters.bytesOut += bytes;
    }
    replay.passTo(offset, check);
    return true;
  }

  /** Whether the client has read enough to be sent this much more. */
  private hasRoom(replay: Replay, bytes: number): boolean {
    const waiting = replay.subscription.connection.socket.getBufferedAmount();
    return waiting === 0 || waiting + bytes <= this.parts.maxPendingBytes / 2;
  }

  private goLive(replay: Replay): void {
    const steps = this.active.get(replay);
    const { subscription } = replay;
    subscription.replay = undefined;
    this.end(replay);
    steps?.goLive();
  }

  private async read(replay: Replay, stream: Stream): Promise<void> {
    if (replay.isReading) return;
    replay.isReading = true;
    const { streams } = this.parts;
    const { cursor, check, subscription } = replay;
    const { space } = subscription.channel;
    const range = { after: cursor, upTo: stream.delivered, limit: READ_MAX_MESSAGES, maxBytes: READ_MAX_BYTES };
    try {
      const page = await streams.reads.run(space.owner, subscription.connection, async () => {
        // Another replay of this connection has taken the room meanwhile.
        if (replay.stage !== "following" || !this.hasRoom(replay, replay.neededBytes)) return "later";
        return streams.read(stream, range);
      });
      if (page === "later" || replay.stage !== "following" || !stream.isOpen) return;
      const isSame = page?.state.epoch === stream.epoch && (check === undefined || page.check === check);
      if (!isSame || page.messages[0]?.offset !== cursor + 1) return this.cut(replay);
      replay.buffer = page.messages;
    } catch {
      // The store is unavailable: tried again until the time is over.
      return;
    } finally {
      replay.isReading = false;
    }
    if (this.pump(replay)) this.pacer.add(replay);
  }

  private cut(replay: Replay): void {
    this.parts.connections.close(replay.subscription.connection, RESYNC);
  }

  private watch(): void {
    if (this.isTimerSet || this.active.size === 0) return;
    this.isTimerSet = true;
    this.parts.clock.after(CHECK_EVERY_MS, () => {
      this.isTimerSet = false;
      const nowMs = this.parts.clock.monotonicMs();
      for (const replay of [...this.active.keys()]) {
        if (nowMs >= replay.untilMs) this.forConnection(replay, () => this.cut(replay));
        else this.goOn(replay);
      }
      this.watch();
    });
  }

  private forConnection(replay: Replay, act: () => void): void {
    this.parts.boundary.forConnection("history", replay.subscription.connection, act);
  }
}
