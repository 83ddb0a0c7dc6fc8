import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Parley } from "./parley.ts";
import { OfflineQueue, type QueueOptions } from "./queue.ts";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
let queue: OfflineQueue;
let results: string[];
beforeEach(() => {
  kit = new Kit();
  kit.clock.random = 0;
  results = [];
});
afterEach(() => kit.restore());

function offline(options: QueueOptions = {}): Parley {
  queue = new OfflineQueue(options);
  return kit.client({ queue });
}

function publish(parley: Parley, data: string, options: object = {}): void {
  parley
    .channel("chat")
    .publish(data, options)
    .then(
      () => results.push(data),
      (error) => results.push(`${data} ${error.code}`),
    );
}

const sent = (): unknown[] => kit.service.socket.of("publish").map(({ data }) => data);
const ack = (fields: object = { pos: "p" }): Promise<void> => kit.service.socket.ack("publish", fields);

describe("order", () => {
  test("what was published without a connection is sent in its order, one after the other", async () => {
    const parley = offline();
    for (const data of ["a", "b", "c"]) publish(parley, data);
    await settled();
    expect(queue.size).toBe(3);
    await kit.service.socket.welcome();
    expect(sent()).toEqual(["a"]);
    await ack();
    await ack();
    publish(parley, "d");
    expect(sent()).toEqual(["a", "b", "c"]);
    await ack();
    await ack();
    expect(results).toEqual(["a", "b", "c", "d"]);
    expect(queue.size).toBe(0);
  });

  test("a clock that is set back holds nothing up", async () => {
    const parley = offline();
    publish(parley, "a");
    await settled();
    await kit.service.socket.welcome();
    await ack();
    kit.clock.setBack(36_000_000);
    publish(parley, "b");
    await settled();
    await ack();
    expect(results).toEqual(["a", "b"]);
  });

  test("a refused message does not hold up the others", async () => {
    const parley = offline();
    for (const data of ["a", "x".repeat(70_000), "b"]) publish(parley, data);
    await settled();
    await kit.service.socket.welcome();
    await kit.service.socket.refuse("publish", "action_not_permitted");
    await ack();
    expect(results.map((one) => one.slice(-20))).toEqual(
      ["a action_not_permitted", `${"x".repeat(70_000)} message_too_large`, "b"].map((one) => one.slice(-20)),
    );
  });

  test("is paced, so that the service does not end the connection for its rate", async () => {
    const parley = offline();
    for (let count = 0; count < 400; count++) publish(parley, String(count));
    await settled();
    const { socket } = kit.service;
    await socket.welcome();
    const drain = async (): Promise<number> => {
      for (let before = -1; before !== socket.sent.length; await ack()) before = socket.sent.length;
      return socket.sent.length;
    };
    expect(await drain()).toBeLessThan(300);
    for (let second = 1; second <= 2; second++) {
      const before = socket.sent.length;
      for (let step = 0; step < 100; step++) {
        await kit.clock.advance(10);
        await drain();
      }
      expect(socket.sent.length - before).toBeLessThan(90);
    }
    await kit.clock.advance(0);
    expect(results.length).toBeGreaterThan(380);
  });
});

describe("accepted once", () => {
  test("with history, a message of unknown fate is sent again under its id, before later ones", async () => {
    const parley = offline();
    publish(parley, "known");
    await settled();
    await kit.service.socket.welcome();
    await ack();
    publish(parley, "a");
    publish(parley, "b");
    await settled();
    const { id } = kit.service.socket.last("publish");
    expect(String(id)).toHaveLength(16);
    await kit.reconnected();
    expect(kit.service.socket.of("publish")).toMatchObject([{ data: "a", id }]);
    await ack({ pos: "p", duplicate: true });
    await ack();
    expect(results).toEqual(["known", "a", "b"]);
  });

  test.each(["backend_error", "timeout"])("likewise after %s", async (code) => {
    const parley = offline();
    publish(parley, "known");
    await settled();
    await kit.service.socket.welcome();
    await ack();
    publish(parley, "a");
    await settled();
    if (code === "timeout") await kit.clock.advance(15_000);
    else await kit.service.socket.refuse("publish", code);
    publish(parley, "b");
    await settled();
    expect(sent()).toEqual(["known", "a"]);
    await kit.clock.advance(500);
    expect(sent()).toEqual(["known", "a", "a"]);
    await ack();
    await ack();
    expect(results).toEqual(["known", "a", "b"]);
  });

  test("without history it is rejected, and not sent again", async () => {
    const parley = offline();
    publish(parley, "known");
    await settled();
    await kit.service.socket.welcome();
    await ack({});
    publish(parley, "a");
    publish(parley, "b");
    await settled();
    await kit.reconnected();
    expect(results).toEqual(["known", "a connection_lost"]);
    expect(sent()).toEqual(["b"]);
    await ack({});
  });

  test.each([
    ["it is sent again, if the channel has history", { pos: "p" }, ["a", "b"]],
    ["it is rejected, if the channel has none", {}, ["a connection_lost", "b"]],
  ])("if that is not known yet, the service is asked: %s", async (_, page, expected) => {
    const parley = offline();
    publish(parley, "a");
    publish(parley, "b");
    await settled();
    await kit.service.socket.welcome();
    await kit.reconnected();
    expect(sent()).toEqual([]);
    // That connection ends before the answer, too.
    await kit.reconnected();
    expect(results).toEqual([]);
    const { requestId } = kit.service.socket.last("history");
    await kit.service.socket.receive({
      type: "history",
      requestId,
      channel: "chat",
      messages: [],
      more: false,
      ...page,
    });
    for (const one of expected) if (!one.includes(" ")) await ack(page);
    expect(results).toEqual(expected);
  });

  test("who may not read the history cannot know, and gets a rejection", async () => {
    const parley = offline();
    publish(parley, "a");
    await settled();
    await kit.service.socket.welcome();
    await kit.reconnected();
    await kit.service.socket.refuse("history", "action_not_permitted");
    expect(results).toEqual(["a connection_lost"]);
  });

  test("after two minutes the service has forgotten its id: it is rejected, because it could be stored twice", async () => {
    const parley = offline();
    publish(parley, "known");
    await settled();
    await kit.service.socket.welcome();
    await ack();
    publish(parley, "a");
    publish(parley, "not sent yet");
    await settled();
    await kit.service.socket.end();
    kit.clock.sleep(120_000);
    await kit.comesBack();
    await kit.service.socket.welcome();
    expect(sent()).toEqual(["not sent yet"]);
    await ack();
    expect(results).toEqual(["known", "a connection_lost", "not sent yet"]);
  });

  test("within that time it is sent again, also if the clock is set back", async () => {
    const parley = offline();
    publish(parley, "known");
    await settled();
    await kit.service.socket.welcome();
    await ack();
    publish(parley, "a");
    await settled();
    kit.clock.setBack(600_000);
    await kit.reconnected();
    expect(sent()).toEqual(["a"]);
    await ack();
    expect(results).toEqual(["known", "a"]);
  });

  test("a direct message whose answer is missing is sent again under the same id", async () => {
    const parley = offline();
    const send = parley.send("bob", 1).then(
      () => "sent",
      (error) => error.code,
    );
    await settled();
    await kit.service.socket.welcome();
    const { id } = kit.service.socket.last("send");
    expect(id).toMatch(/^.{16}$/);
    await kit.service.socket.end();
    await kit.comesBack();
    await kit.service.socket.welcome();
    expect(kit.service.socket.last("send")).toMatchObject({ to: "bob", data: 1, id });
    await kit.service.socket.ack("send");
    expect(await send).toBe("sent");
  });

  test("a service that does not remember ids of direct messages gets none twice", async () => {
    const parley = offline();
    const send = parley.send("bob", 1, { id: "x" }).catch((error) => error.code);
    await settled();
    await kit.service.socket.welcome({ features: ["history", "state", "renew"] });
    expect(kit.service.socket.last("send")).toMatchObject({ to: "bob", id: "x" });
    await kit.service.socket.end();
    await kit.comesBack();
    expect(await send).toBe("connection_lost");
  });
});

describe("bounds", () => {
  test("one message too many is rejected at once", async () => {
    const parley = offline({ messages: 2 });
    for (const data of ["a", "b", "c"]) publish(parley, data);
    await settled();
    expect(results).toEqual(["c queue_full"]);
  });

  test("a message that waited longer than its ttl is rejected, and not sent", async () => {
    const parley = offline({ ttl: 3000 });
    publish(parley, "a");
    publish(parley, "b", { ttl: 1000 });
    publish(parley, "c", { ttl: 1e12 });
    await kit.clock.advance(1000);
    expect(results).toEqual(["b message_expired"]);
    await kit.clock.advance(2000);
    expect(results).toEqual(["b message_expired", "a message_expired"]);
    await kit.service.socket.welcome();
    expect(sent()).toEqual(["c"]);
  });

  test("also if the clock is set back meanwhile", async () => {
    const parley = offline({ ttl: 3000 });
    publish(parley, "a");
    kit.clock.setBack(36_000_000);
    await kit.clock.advance(3000);
    expect(results).toEqual(["a message_expired"]);
  });

  test("one that was sent already has an unknown fate then", async () => {
    const parley = offline();
    publish(parley, "known");
    await settled();
    await kit.service.socket.welcome();
    await ack();
    publish(parley, "a", { ttl: 1000 });
    await settled();
    kit.clock.random = 1;
    await kit.service.socket.end();
    await kit.clock.advance(2000);
    expect(results).toEqual(["known", "a connection_lost"]);
  });

  test("serves the next client when the one before has ended", async () => {
    const first = offline();
    publish(first, "a");
    await settled();
    first.close();
    const second = kit.client({ queue });
    publish(second, "b");
    publish(first, "c");
    await settled();
    expect(results).toEqual(["a closed"]);
    await kit.service.socket.welcome();
    await ack();
    expect(sent()).toEqual(["b"]);
    expect(results).toEqual(["a closed", "b", "c closed"]);
  });

  test("the end of the client rejects what waits, and leaves no timer", async () => {
    const parley = offline({ ttl: 5000 });
    publish(parley, "a");
    await settled();
    parley.close();
    publish(parley, "b");
    await settled();
    expect(results).toEqual(["a closed", "b closed"]);
    expect(kit.clock.waiting).toBe(0);
  });
});
