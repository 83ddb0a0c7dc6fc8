import { expect, test } from "bun:test";
import { type Envelope, UNAVAILABLE } from "../../engine/engine.ts";
import { APP, turn, World } from "../../realtime/testing/kit.ts";
import { sendMessage } from "./messages.ts";

const ONE = { from: "server", metadataJson: undefined, dataJson: "1" };

test("a send that is not known to be delivered says so, and may be repeated", async () => {
  const world = new World({ engine: (engine) => Object.assign(engine, { send: async () => UNAVAILABLE }) });
  const sent = sendMessage(world.node.hub.directs, APP, "ann", ONE, "key k");
  await expect(sent).rejects.toMatchObject({
    code: "backend_error",
    message: expect.stringContaining("may or may not have been delivered"),
    retryAfterSeconds: 1,
  });
});

test("a send that is repeated with the same id is delivered once, and answered as delivered", async () => {
  const world = new World();
  const ann = world.connect("ann");
  const send = (idScope: string, id?: string) =>
    sendMessage(world.node.hub.directs, APP, "ann", id === undefined ? ONE : { ...ONE, id }, idScope);
  for (const scope of ["key a", "key a", "key b"])
    expect(await send(scope, "x")).toEqual({ peerId: "ann", delivered: true });
  expect(ann.newFrames()).toEqual(["direct server 1", "direct server 1"]);
  await send("key a");
  await send("key a");
  expect(ann.newFrames()).toHaveLength(2);
});

test("receivers and other nodes do not get a scope without an id", async () => {
  const seen: Envelope[] = [];
  const send = (_app: string, _to: string, envelope: Envelope): number => seen.push(envelope);
  const world = new World({ engine: (engine) => Object.assign(engine, { send }) });
  await sendMessage(world.node.hub.directs, APP, "ann", ONE, "key a");
  await turn();
  expect(seen).toEqual([ONE]);
});
