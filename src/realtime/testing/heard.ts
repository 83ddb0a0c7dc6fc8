/** For tests: a listener that writes down what happens on a node, one line per event. */
import type { RealtimeListener } from "../events/events.ts";

export class Heard implements RealtimeListener {
  readonly lines: string[] = [];

  /** What came since the last look. */
  take(): string[] {
    return this.lines.splice(0);
  }

  private readonly note = (...parts: readonly unknown[]): void => {
    this.lines.push(parts.filter((part) => part !== undefined).join(" "));
  };

  connected: RealtimeListener["connected"] = ({ peerId, keyId, address }) =>
    this.note("connect", peerId, keyId, address);
  refused: RealtimeListener["refused"] = ({ code, app, keyId, peerId, address }) =>
    this.note("refuse", code, app ?? "-", keyId ?? "-", peerId ?? "-", address);
  subscribed: RealtimeListener["subscribed"] = ({ peerId }, channel) => this.note("subscribe", peerId, channel);
  unsubscribed: RealtimeListener["unsubscribed"] = ({ peerId }, channel) => this.note("unsubscribe", peerId, channel);
  published: RealtimeListener["published"] = (spaceId, channel, from, dataJson, connection) =>
    this.note("publish", spaceId, channel, from, dataJson, connection ? "socket" : "rest");
  sent: RealtimeListener["sent"] = (spaceId, to, from, dataJson, connection) =>
    this.note("send", spaceId, to, from, dataJson, connection ? "socket" : "rest");
  presence: RealtimeListener["presence"] = (spaceId, channel, peerId, change) =>
    this.note("presence", spaceId, channel, peerId, change);
  stateSet: RealtimeListener["stateSet"] = ({ peerId }, channel, stateJson) =>
    this.note("state", peerId, channel, stateJson);
  renewed: RealtimeListener["renewed"] = ({ peerId, keyId }) => this.note("renew", peerId, keyId);
  failed: RealtimeListener["failed"] = ({ peerId }, code, channel) => this.note("error", peerId, code, channel);
  closed: RealtimeListener["closed"] = ({ peerId }, code) => this.note("close", peerId, code);
}
