/** Bugs that the model test must find in worlds with channel rules: in histories, recoveries, states, graces and holds. */
import type { Bug } from "./bugs.ts";

const STREAM = "src/realtime/state/stream.ts";
const PUBLISHING = "src/realtime/streams/publishing.ts";
const RECOVERY = "src/realtime/streams/recovery.ts";
const REPLAYS = "src/realtime/streams/replays.ts";
const LINGERING = "src/realtime/presence/lingering.ts";
const DEPARTURE = "src/realtime/state/departure.ts";

const PLANTED: readonly Bug[] = [
  {
    name: "history: a hole, where a message arrives before an earlier one",
    file: STREAM,
    find: "if (offset > this.delivered + 1) {",
    replace: "if (offset > this.delivered + 1000) {",
  },
  {
    name: "history: a double, where a message arrives and is read",
    file: STREAM,
    find: "if (offset <= this.delivered) {",
    replace: "if (offset < this.delivered) {",
  },
  {
    name: "history: a wrong order over nodes",
    file: STREAM,
    find: "const next = this.ahead.get(this.delivered + 1);",
    replace: "const [next] = this.ahead.values();",
  },
  {
    name: "history: an ack's position ahead of deliveries",
    file: PUBLISHING,
    find: "if (stream) stream.whenDelivered(appended.epoch, appended.offset, delivered);",
    replace: "if (stream) delivered();",
  },
  {
    name: "history: a committed tail that no one announces",
    file: "src/realtime/streams/tops.ts",
    find: "if (offset > stream.delivered) {",
    replace: "if (offset > stream.delivered + 1000) {",
  },
  {
    name: "an unsubscribe is acked before the subscribe ahead of it, which waits",
    file: "src/realtime/subscriptions/channels.ts",
    find: 'this.unanswered.end(subscription, why === "revoked" ? "channel_not_authorized" : undefined);',
    replace: "",
  },
  {
    name: "history: its own message, live",
    file: "src/realtime/messages/delivery.ts",
    find: "isOnTopic ? own : undefined, fields);",
    replace: "undefined, fields);",
  },
  {
    name: "history: a send overtakes an uncommitted publish",
    file: "src/realtime/frames/message-frames.ts",
    find: "if (!hasUncommitted(connection)) return this.sendNow(",
    replace: "if (connection) return this.sendNow(",
  },
  {
    name: "history: an id counts for all peers",
    file: "src/realtime/state/connection.ts",
    find: "return this.isFromToken ? ",
    replace: "if (this.isFromToken) return keyIdScope(this.peer.space.app);\n    return this.isFromToken ? ",
  },
  {
    name: "history: a duplicate is acked like a new message",
    file: "src/realtime/frames/message-frames.ts",
    find: `const duplicate = outcome.isDuplicate ? ',"duplicate":true' : "";`,
    replace: 'const duplicate = "";',
  },
  {
    name: "recovery: own messages replayed",
    file: "src/realtime/state/replay.ts",
    find: '(this.start.kind === "recover" && publisher === this.start.connection)',
    replace: "false",
  },
  {
    name: "recovery: across an epoch",
    file: RECOVERY,
    find: "if (position?.epoch !== epoch) return notRecovered(stream);",
    replace: "if (!position) return notRecovered(stream);",
  },
  {
    name: "recovery: a replay from before what is stored",
    file: RECOVERY,
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
    file: REPLAYS,
    find: "if (replay.cursor >= stream.delivered) {",
    replace: "if (replay.cursor >= replay.upTo) {",
  },
  {
    name: "recovery: never, though it could be",
    file: RECOVERY,
    find: "if (ring.checkAt(offset) !== check) return notRecovered(stream);",
    replace: "if (ring.checkAt(offset) !== check || offset % 2 === 1) return notRecovered(stream);",
  },
  {
    name: "states: to a subscription that did not ask",
    file: "src/realtime/state/subscription.ts",
    find: 'this.setOnStateTopic(this.withStates && (next.kind === "listening" || next.kind === "offTopic"));',
    replace: 'this.setOnStateTopic(next.kind === "listening" || next.kind === "offTopic");',
  },
  {
    name: "states: in a roster that did not ask",
    file: "src/realtime/presence/presence-writer.ts",
    find: "else plain ??= makeRoster(channel, partMaxBytes, false);",
    replace: "else plain ??= makeRoster(channel, partMaxBytes, true);",
  },
  {
    name: "states: a change is not sent",
    file: "src/realtime/presence/presence-writer.ts",
    find: "if (members.length === 0 || channel.stateListeners === 0) return;",
    replace: "if (members.length === 0 || channel.stateListeners < 2) return;",
  },
  {
    name: "states: not shown that a member is lost",
    file: "src/protocol/encode.ts",
    find: 'isLost ? \',"lost":true\' : ""',
    replace: 'isLost ? "" : ""',
  },
  {
    name: "graces: a member that never leaves",
    file: LINGERING,
    find: "if (stay && lingers && lingers.untilMs <= nowMs) {",
    replace: "if (stay && lingers && lingers.untilMs <= 0) {",
  },
  {
    name: "graces: a lost member leaves at once",
    file: DEPARTURE,
    find: '(code === NORMAL ? "goodbye" : "lost")',
    replace: '(code === NORMAL ? "lost" : "goodbye")',
  },
  {
    name: "graces: a held member is shown as left and joined",
    file: DEPARTURE,
    find: "    case TOKEN_EXPIRED:\n",
    replace: "",
  },
  {
    name: "graces: a kick does not end them",
    file: "src/realtime/control/expected-back.ts",
    find: "lingering.endPeer(app, peerId);",
    replace: "",
  },
  {
    name: "graces: left before an uncommitted message",
    file: LINGERING,
    find: "if (hasUncommitted(subscription.connection) && isShown(member))",
    replace: "if (!subscription && isShown(member))",
  },
];

export const RULES_BUGS: readonly Bug[] = PLANTED.map((bug) => ({ ...bug, world: "rules" }));
