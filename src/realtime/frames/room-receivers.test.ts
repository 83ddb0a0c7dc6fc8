/** A message to a participant that this node does not know yet: whether it is inside is looked up, and the order is kept. */
import { expect, test } from "bun:test";
import type { RoomRefusal } from "../../access/tokens/room-access.ts";
import { chatChannel, inboxChannel } from "../../protocol/room-channels.ts";
import type { Client } from "../testing/kit.ts";
import { ROOM_ID, RoomsWorld } from "../testing/rooms.ts";

const CHAT = chatChannel(ROOM_ID);
const inbox = (id: string): string => inboxChannel(ROOM_ID, id);
const NOT_FOUND: RoomRefusal = { code: "peer_not_found" };

/** Receivers that are not known are looked up; the test says when that is answered, oldest first. */
async function lookingUp() {
  const world = new RoomsWorld();
  const [ann, ben] = [await world.enter("ann"), await world.enter("ben")];
  ben.subscribe(inbox("ben"));
  ben.subscribe(CHAT);
  await world.pass(600);
  for (const client of [ann, ben]) client.take();
  const answers: ((refusal: RoomRefusal | undefined) => void)[] = [];
  world.hooks.receiver = (channel) =>
    channel === CHAT
      ? undefined
      : new Promise((resolve) => {
          answers.push(resolve);
        });
  const answer = async (refusal?: RoomRefusal): Promise<void> => {
    answers.shift()?.(refusal);
    await world.pass(30);
  };
  return { world, ann, ben, answer, asked: () => answers.length };
}

const data = (client: Client): unknown[] =>
  client.take().flatMap((frame) => (frame.data === undefined ? [] : [frame.data]));

test("what is sent meanwhile waits behind it, and everything arrives in order", async () => {
  const { world, ann, ben, answer, asked } = await lookingUp();
  ann.publish(inbox("ben"), { nr: 1 });
  ann.publish(CHAT, { nr: 2 });
  ann.publish(inbox("ben"), { nr: 3 });
  ann.publish(CHAT, { nr: 4 });
  ann.unsubscribe(CHAT);
  await world.pass(30);
  // One at a time, however much a client sends.
  expect([asked(), data(ben), ann.newFrames()]).toEqual([1, [], []]);
  await answer();
  expect([asked(), data(ben)]).toEqual([1, [{ nr: 1 }, { nr: 2 }]]);
  await answer();
  expect(data(ben)).toEqual([{ nr: 3 }, { nr: 4 }]);
  expect(ann.newFrames()).toEqual(["ack r1", "ack r2", "ack r3", "ack r4", "ack r5"]);
});

test("a made-up receiver is an error to the sender, and nothing is stored", async () => {
  const { world, ann, answer } = await lookingUp();
  ann.publish(inbox("made-up"), { bye: true });
  ann.publish(CHAT, { nr: 1 });
  await answer(NOT_FOUND);
  expect(ann.newFrames()).toEqual(["error peer_not_found r1", "ack r2"]);
  expect((await world.history.usage(ann.connection.peer.space.id)).messages).toBe(1);
});

test("a store that cannot be asked is an error too, and the connection goes on", async () => {
  const { world, ann } = await lookingUp();
  world.hooks.receiver = () => Promise.reject(new Error("planted"));
  ann.publish(inbox("ben"), { bye: true });
  await world.pass(30);
  world.hooks.receiver = () => undefined;
  ann.publish(inbox("ben"), { bye: true });
  await world.pass(30);
  expect(ann.newFrames()).toEqual(["error backend_error r1", "ack r2"]);
});

test("a sender that is gone when it is decided publishes nothing, and leaves nothing behind", async () => {
  const { world, ann, ben, answer } = await lookingUp();
  ann.publish(inbox("ben"), { nr: 1 });
  ann.publish(CHAT, { nr: 2 });
  ann.vanish();
  await answer();
  await world.pass(100);
  expect(data(ben)).toEqual([]);
});

test("what is sent while a message is decided, but not stored, waits behind those that wait already", async () => {
  const { world, ann, ben, answer } = await lookingUp();
  ann.publish(inbox("ben"), { nr: 1 });
  ann.publish(inbox("ben"), { nr: 2 });
  await world.pass(30);
  world.history.pause("append");
  await answer();
  ann.publish(inbox("ben"), { nr: 3 });
  await world.pass(30);
  world.history.releaseAll();
  await world.pass(60);
  await answer();
  await answer();
  expect(data(ben)).toEqual([{ nr: 1 }, { nr: 2 }, { nr: 3 }]);
  expect(ann.newFrames()).toEqual(["ack r1", "ack r2", "ack r3"]);
});

test.each(["answered", "failed"] as const)(
  "a message whose receiver is looked up does not overtake one that is not delivered yet; the store has %s",
  async (how) => {
    const world = new RoomsWorld({ nodes: 2 });
    const [ann, ben, cat] = [await world.enter("ann"), await world.enter("ben"), await world.enter("cat", { node: 1 })];
    for (const channel of [CHAT, inbox("ben")]) ben.subscribe(channel);
    await world.pass(1200);
    for (const client of [ann, ben, cat]) client.take();
    // The line of cat is stored first, and answered late: the later one waits for it.
    const first = Promise.withResolvers<void>();
    let isFirst = true;
    world.history.beforeAnswer = (call) => {
      if (call !== "append" || !isFirst) return;
      isFirst = false;
      return first.promise;
    };
    cat.publish(CHAT, { nr: "cat" });
    await world.pass(2);
    const lookup = (): Promise<undefined> =>
      how === "failed" ? Promise.reject(new Error("planted")) : Promise.resolve(undefined);
    world.hooks.receiver = (channel) => (channel === CHAT ? undefined : lookup());
    ann.publish(CHAT, { nr: 1 });
    ann.publish(inbox("ben"), { nr: 2 });
    await world.pass(5);
    expect(data(ben)).toEqual([]);
    first.resolve();
    await world.pass(1500);
    const expected = [{ nr: "cat" }, { nr: 1 }, { nr: 2 }];
    expect(data(ben)).toEqual(how === "failed" ? expected.slice(0, 2) : expected);
    expect(ann.newFrames()).toEqual(how === "failed" ? ["ack r1", "error backend_error r2"] : ["ack r1", "ack r2"]);
  },
);
