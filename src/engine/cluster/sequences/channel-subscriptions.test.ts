/** Items and responses that another client of the server forges in the name of a node, and nodes that do not respond. */
import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { EngineCallbacks } from "../../engine.ts";
import { Nodes } from "../nodes/nodes.ts";
import type { Requests } from "../requests/requests.ts";
import { message, tail } from "../wire/encode.ts";
import { JSON_FORMAT } from "../wire/format.ts";
import type { NodeRequest, NodeResponse, SequencePlace } from "../wire/messages.ts";
import { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";
import { ChannelSubscriptions } from "./channel-subscriptions.ts";

const APP = anAppId("app");

const place = (n: number, channel = "c", epoch = 1): SequencePlace => ({ node: "b", app: APP, channel, epoch, n });
const messageOf = (n: number, channel = "c"): string =>
  message(place(n, channel), { from: "x", metadataJson: undefined, dataJson: `"${channel}${n}"` });

/** Subscribes to the channels `c` and `d`. The node `b` is at sequence number 1 in both; it answers requests from `remote`. */
function subscribed({ isSilent = false, isSilentAfterLoss = false, isDirect = false, isKnown = false } = {}) {
  const delivered: string[] = [];
  const lost: string[] = [];
  const warnings: string[] = [];
  const requested: NodeRequest["kind"][] = [];
  const receivers = new Map<string, (text: string) => void>();
  const remote = { n: 1, items: undefined as readonly string[] | undefined };
  /** What the node answers when it responds again. */
  const unanswered: (() => void)[] = [];
  const nodes = new Nodes({
    self: "me",
    heartbeatMs: 1000,
    nowMs: () => 0,
    appeared: () => undefined,
    gone: () => undefined,
  });
  const nodeB = nodes.seen("b");
  if (!nodeB) throw new Error("the node is not known");
  const subjects = new Subjects("p", "me");
  const respond = (request: NodeRequest): NodeResponse => {
    requested.push(request.kind);
    if (request.kind === "replay") return { kind: "replay", items: remote.items };
    const channels = request.kind === "sequences" ? request.channels : [];
    const sequences = channels.map(([spaceId, channel]) => ({
      app: spaceId,
      channel,
      epoch: 1,
      n: remote.n,
      members: [],
    }));
    return { kind: "sequences", sequences };
  };
  const local: Partial<EngineCallbacks> = {
    deliver: (_spaceId, channel, { dataJson }) => void delivered.push(`${channel}: ${dataJson}`),
    lost: (_spaceId, channel) => {
      lost.push(channel);
      isSilent ||= isSilentAfterLoss;
    },
    membersAre: () => undefined,
  };
  const wire: Pick<Wire, "subscribeTexts" | "isUp" | "isDirect" | "format"> = {
    isUp: true,
    isDirect,
    format: JSON_FORMAT,
    subscribeTexts: (subject, receive) => {
      receivers.set(subject, receive);
      return { end: () => receivers.delete(subject), isKnownTo: (other) => isKnown && other === subjects.node("b") };
    },
  };
  const requests: Pick<Requests, "toAll" | "toOne"> = {
    toAll: (request, done) => done(new Map(isSilent ? [] : [["b", respond(request)]])),
    toOne: (_name, request, done) =>
      isSilent ? void unanswered.push(() => done(respond(request))) : done(respond(request)),
  };
  const subscriptions = new ChannelSubscriptions({
    local: local as EngineCallbacks,
    wire: wire as Wire,
    subjects,
    nodes,
    requests: requests as Requests,
    openings: {
      begin: (spaceId, channel, _transport, done) => {
        requests.toAll({ kind: "sequences", channels: [[spaceId, channel]] }, done);
        return undefined;
      },
      reported: () => undefined,
    },
    warn: (text) => void warnings.push(text),
    unexpected: (where) => void warnings.push(`ignored a message that no node has sent, ${where}`),
    heartbeatMs: 1000,
    nowMs: () => 0,
  });
  for (const channel of ["c", "d"]) subscriptions.open(APP, channel, () => undefined);
  requested.length = 0;
  const arrive = (text: string, channel = "c"): void => {
    const subject = subjects.channel(APP, channel);
    receivers.get(subject)?.(text);
  };
  const returns = (): void => subscriptions.resync(nodeB);
  const ends = (hasLeft: boolean): void => subscriptions.nodeGone({ ...nodeB, hasLeft });
  const interrupted = (): void => subscriptions.interrupted();
  const silence = (): void => {
    isSilent = true;
  };
  const answers = (): void => {
    for (const answer of unanswered.splice(0)) answer();
  };
  return { arrive, delivered, lost, warnings, requested, remote, returns, answers, ends, interrupted, silence };
}

test.each([
  ["a sequence number", tail(place(1000))],
  ["an epoch", tail(place(5, "c", 7))],
])(
  "%s that the node has not reached is not a loss: its state is requested, and later messages are delivered",
  (_what, forged) => {
    const { arrive, delivered, lost, requested } = subscribed();
    arrive(forged);
    expect([requested, lost]).toEqual([["replay", "sequences"], []]);
    arrive(messageOf(2));
    expect([delivered, lost]).toEqual([['c: "c2"'], []]);
  },
);

test("items that the node has sent and no longer keeps are a loss", () => {
  const { arrive, lost, remote } = subscribed();
  remote.n = 1000;
  arrive(tail(place(1000)));
  expect(lost).toEqual(["c"]);
});

test("an item on the subject of another channel is ignored", () => {
  const { arrive, delivered, warnings } = subscribed();
  arrive(messageOf(2, "d"), "c");
  expect([delivered, warnings.length]).toEqual([[], 1]);
  arrive(messageOf(2, "d"), "d");
  expect(delivered).toEqual(['d: "d2"']);
});

test("a replay with items of another sequence does not fill a gap", () => {
  const { arrive, delivered, lost, remote } = subscribed();
  [remote.n, remote.items] = [3, [messageOf(2, "d")]];
  arrive(messageOf(3));
  expect([delivered, lost]).toEqual([[], ["c"]]);
});

test("a node that was cut off when channels were opened may have accepted messages since: they are lost", () => {
  const { lost, returns, answers, arrive, delivered, remote } = subscribed({ isSilent: true });
  remote.n = 2;
  arrive(messageOf(2));
  returns();
  answers();
  expect([delivered, lost]).toEqual([[], ["c", "d"]]);
  answers();
  arrive(messageOf(3));
  returns();
  answers();
  expect([delivered, lost]).toEqual([['c: "c3"'], ["c", "d"]]);
});

test("one that was cut off, and whose first message has arrived since, has lost nothing on that channel", () => {
  const { lost, returns, answers, arrive, delivered } = subscribed({ isSilent: true });
  arrive(messageOf(1));
  returns();
  answers();
  expect([delivered, lost]).toEqual([['c: "c1"'], ["d"]]);
});

test("one that has to read of a subscription itself, and responds late, may have published before that: it is lost", () => {
  const { lost, answers, arrive, delivered } = subscribed({ isSilent: true, isDirect: true });
  answers();
  expect(lost).toEqual(["c", "d"]);
  answers();
  arrive(messageOf(2));
  expect([delivered, lost]).toEqual([['c: "c2"'], ["c", "d"]]);
});

test("one that is known to have read of it, and responds late, has lost nothing", () => {
  const { lost, answers, arrive, delivered } = subscribed({ isSilent: true, isDirect: true, isKnown: true });
  answers();
  arrive(messageOf(2));
  expect([delivered, lost]).toEqual([['c: "c2"'], []]);
});

test("one that only responds late has lost nothing", () => {
  const { lost, answers, returns, arrive, delivered } = subscribed({ isSilent: true });
  answers();
  arrive(messageOf(2));
  returns();
  expect([delivered, lost]).toEqual([['c: "c2"'], []]);
});

test("one that was cut off while its state was awaited after a loss may have accepted messages since: they are lost", () => {
  const { lost, returns, answers, arrive, remote } = subscribed({ isSilentAfterLoss: true });
  remote.n = 1000;
  arrive(tail(place(1000)));
  expect(lost).toEqual(["c"]);
  remote.n = 1002;
  returns();
  answers();
  expect(lost).toEqual(["c", "c"]);
});

test("one that only responds late after a loss has lost nothing more", () => {
  const { lost, returns, answers, arrive, remote, delivered } = subscribed({ isSilentAfterLoss: true });
  remote.n = 1000;
  arrive(tail(place(1000)));
  answers();
  arrive(messageOf(1001));
  remote.n = 1001;
  returns();
  answers();
  expect([delivered, lost]).toEqual([['c: "c1001"'], ["c"]]);
});

test.each([true, false])(
  "what waits for the state of a node is lost when the node ends; with a farewell: %p",
  (hasLeft) => {
    const { lost, arrive, ends, delivered } = subscribed({ isSilent: true });
    arrive(messageOf(2));
    ends(hasLeft);
    expect([delivered, lost]).toEqual([[], ["c"]]);
  },
);

test.each([true, false])("so is a gap whose items were requested; with a farewell: %p", (hasLeft) => {
  const { lost, arrive, ends, remote, silence } = subscribed();
  remote.n = 3;
  silence();
  arrive(messageOf(3));
  ends(hasLeft);
  expect(lost).toEqual(["c"]);
});

test("what an outage may have hidden is lost with a farewell, and asked for if the node may return", () => {
  for (const [hasLeft, expected] of [
    [true, ["c", "d"]],
    [false, []],
  ] as const) {
    const { lost, ends, interrupted } = subscribed();
    interrupted();
    ends(hasLeft);
    expect(lost).toEqual([...expected]);
  }
});

test.each([true, false])("a node that has sent everything ends without a loss; with a farewell: %p", (hasLeft) => {
  const { lost, arrive, ends, delivered } = subscribed();
  arrive(messageOf(2));
  ends(hasLeft);
  expect([delivered, lost]).toEqual([['c: "c2"'], []]);
});

test.each([true, false])(
  "a node that was cut off and ends before its state is known may have accepted messages: they are lost; with a farewell: %p",
  (hasLeft) => {
    const { lost, returns, ends } = subscribed({ isSilent: true });
    returns();
    ends(hasLeft);
    expect(lost).toEqual(["c", "d"]);
  },
);

test("one that was not cut off, and ends before its state is known, has lost nothing", () => {
  const { lost, ends } = subscribed({ isSilent: true });
  ends(true);
  expect(lost).toEqual([]);
});

test("a worker that falls silent before it has read of a subscription has lost nothing; with a farewell it may have", () => {
  for (const [hasLeft, expected] of [
    [true, ["c", "d"]],
    [false, []],
  ] as const) {
    const { lost, ends } = subscribed({ isSilent: true, isDirect: true });
    ends(hasLeft);
    expect(lost).toEqual([...expected]);
  }
});
