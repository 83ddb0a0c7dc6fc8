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
