/** Bugs that the model test must find in worlds with channel rules: in histories, recoveries, states, graces and holds. */
import type { Bug } from "./bugs.ts";

const PLANTED: readonly Bug[] = [
  {
    name: "history: a hole, where a message arrives before an earlier one",
    in: "Stream",
    find: "if (offset > this.delivered + 1) {",
    replace: "if (offset > this.delivered + 1000) {",
  },
  {
    name: "history: a double, where a message arrives and is read",
    in: "Stream",
    find: "if (offset <= this.delivered) {",
    replace: "if (offset < this.delivered) {",
  },
  {
    name: "history: a wrong order over nodes",
    in: "Stream",
    find: "const next = this.ahead.get(this.delivered + 1);",
    replace: "const [next] = this.ahead.values();",
  },
  {
    name: "history: an ack's position ahead of deliveries",
    in: "Publishing",
    find: "if (stream) stream.whenDelivered(appended.epoch, appended.offset, delivered);",
    replace: "if (stream) delivered();",
  },
  {
    name: "history: a committed tail that no one announces",
    in: "StreamHeads",
    find: "if (offset > stream.delivered) {",
    replace: "if (offset > stream.delivered + 1000) {",
  },
  {
    name: "an unsubscribe is acked before the subscribe ahead of it, which waits",
    in: "Channels",
    find: 'this.unanswered.end(subscription, why === "revoked" ? "channel_not_authorized" : undefined);',
    replace: "",
  },
  {
    name: "history: its own message, live",
    in: "Delivery",
    find: "isOnTopic ? own : undefined, fields);",
    replace: "undefined, fields);",
  },
  {
    name: "history: a send overtakes an uncommitted publish",
    in: "MessageFrames",
    find: "if (!hasUncommitted(connection)) return this.sendNow(",
    replace: "if (connection) return this.sendNow(",
  },
  {
    name: "history: an id counts for all peers",
    in: "Connection",
    find: "return this.isFromToken ? ",
    replace: "if (this.isFromToken) return keyIdScope(this.peer.space.id);\n    return this.isFromToken ? ",
  },
  {
    name: "history: a duplicate is acked like a new message",
    in: "MessageFrames",
    find: `const duplicate = outcome.isDuplicate ? ',"duplicate":true' : "";`,
    replace: 'const duplicate = "";',
  },
  {
    name: "recovery: own messages replayed",
    in: "Replay",
    find: '(this.start.kind === "recover" && publisher === this.start.connection)',
    replace: "false",
  },
  {
    name: "recovery: across an epoch",
    in: "Recovery",
    find: "if (position?.epoch !== epoch) return notRecovered(stream);",
    replace: "if (!position) return notRecovered(stream);",
  },
  {
    name: "recovery: a replay from before what is stored",
    in: "Recovery",
    // Either of the two checks alone finds it.
    find: `if (page?.state.epoch !== epoch || page.check !== check) return notRecovered(stream);
    const { messages } = page;
    // Fewer: they are longer than a replay may be.
    if (messages.length !== upTo - offset || bytesOf(messages) > REPLAY_MAX_BYTES) return notRecovered(stream);`,
    replace: `if (page?.state.epoch !== epoch) return notRecovered(stream);
    const { messages } = page;`,
  },
  {
    name: "recovery: live before it has caught up",
    in: "Replays",
    find: "if (replay.cursor >= stream.delivered) {",
    replace: "if (replay.cursor >= replay.upTo) {",
  },
  {
    name: "recovery: never, though it could be",
    in: "Recovery",
    find: "if (ring.checkAt(offset) !== check) return notRecovered(stream);",
    replace: "if (ring.checkAt(offset) !== check || offset % 2 === 1) return notRecovered(stream);",
  },
  {
    name: "states: to a subscription that did not ask",
    in: "Subscription",
    find: 'this.setOnStateTopic(this.withStates && (next.kind === "listening" || next.kind === "offTopic"));',
    replace: 'this.setOnStateTopic(next.kind === "listening" || next.kind === "offTopic");',
  },
  {
    name: "states: in a roster that did not ask",
    in: "PresenceWriter",
    find: "plain ??= makeRoster(channel, partMaxBytes, false);",
    replace: "plain ??= makeRoster(channel, partMaxBytes, true);",
  },
  {
    name: "states: a change is not sent",
    in: "PresenceWriter",
    find: "if (members.length === 0 || channel.stateListeners === 0) return;",
    replace: "if (members.length === 0 || channel.stateListeners < 2) return;",
  },
  {
    name: "states: not shown that a member is lost",
    in: "stateField",
    find: 'isLost ? \',"lost":true\' : ""',
    replace: 'isLost ? "" : ""',
  },
  {
    name: "graces: a member that never leaves",
    in: "Lingering",
    find: "if (lingeringState && lingers && lingers.untilMs <= nowMs) {",
    replace: "if (lingeringState && lingers && lingers.untilMs <= 0) {",
  },
  {
    name: "graces: a lost member leaves at once",
    in: "departureByClient",
    find: '(code === NORMAL ? "goodbye" : "lost")',
    replace: '(code === NORMAL ? "lost" : "goodbye")',
  },
  {
    name: "graces: a held member is shown as left and joined",
    in: "departureByService",
    find: "    case TOKEN_EXPIRED:\n",
    replace: "",
  },
  {
    name: "graces: a kick does not end them",
    in: "ExpectedBack",
    find: "lingering.endPeer(spaceId, peerId);",
    replace: "",
  },
  {
    name: "graces: left before an uncommitted message",
    in: "Lingering",
    find: "if (hasUncommitted(subscription.connection) && isShown(member))",
    replace: "if (!subscription && isShown(member))",
  },
];

export const RULES_BUGS: readonly Bug[] = PLANTED.map((bug) => ({ ...bug, world: "rules" }));
