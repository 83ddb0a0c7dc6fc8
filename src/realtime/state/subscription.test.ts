/** The state of a subscription, and what must agree with it. */
import { describe, expect, test } from "bun:test";
import { type Client, World } from "../testing/kit.ts";
import type { Subscription } from "./subscription.ts";

/** Long enough for a pong and a tick. */
const STEP_MS = 30;

function subscriptionOf(client: Client): Subscription {
  const subscription = client.connection.subscriptionTo("c");
  if (!subscription) throw new Error("not subscribed");
  return subscription;
}

/** The state, and the counts and topics that go with it. */
const summary = ({ state, connection, channel }: Subscription, { socket }: Client): unknown => ({
  kind: state.kind,
  awaitingPong: connection.awaitingPong,
  listeners: channel.listeners,
  offTopic: channel.offTopic?.size ?? 0,
  isOnTopic: socket.topics.has(channel.presenceTopic),
});

describe("a subscription", () => {
  test("goes from its ack to listening, with counts and topics that agree", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
    ann.subscribe("c");
    const subscription = subscriptionOf(ann);
    const arriving = { listeners: 0, offTopic: 0, isOnTopic: false };
    expect(summary(subscription, ann)).toEqual({ ...arriving, kind: "awaitingPong", awaitingPong: 1 });
    ann.socket.pong();
    expect(summary(subscription, ann)).toEqual({ ...arriving, kind: "ready", awaitingPong: 0 });
    world.advance(STEP_MS);
    const listening = { kind: "listening", awaitingPong: 0, listeners: 1, offTopic: 0, isOnTopic: true };
    expect(summary(subscription, ann)).toEqual(listening);
    ann.subscribe("c");
    expect(summary(subscription, ann)).toEqual({ ...arriving, kind: "awaitingPong", awaitingPong: 1 });
    ann.socket.pong();
    world.advance(STEP_MS);
    expect(summary(subscription, ann)).toEqual(listening);
  });

  test("is off the topic while it was sent a presence change that the channel was not", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    const subscription = subscriptionOf(ann);
    expect(summary(subscription, ann)).toEqual({
      kind: "offTopic",
      awaitingPong: 0,
      listeners: 0,
      offTopic: 1,
      isOnTopic: false,
    });
    ben.socket.pong();
    world.advance(STEP_MS);
    expect(summary(subscription, ann)).toEqual({
      kind: "listening",
      awaitingPong: 0,
      listeners: 2,
      offTopic: 0,
      isOnTopic: true,
    });
  });

  test("stays ended for the first reason, whatever is still done with it", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const subscription = subscriptionOf(ann);
    const { member } = subscription;
    if (!member) throw new Error("no member");
    ann.unsubscribe("c");
    subscription.end("revoked");
    subscription.join(member);
    subscription.awaitPong(member, 1);
    subscription.listen();
    subscription.withdraw();
    expect(subscription.state).toEqual({ kind: "ended", member: undefined, why: "left" });
    expect([
      ann.connection.awaitingPong,
      subscription.channel.listeners,
      ann.socket.topics.has(subscription.channel.presenceTopic),
    ]).toEqual([0, 0, false]);
  });
});
