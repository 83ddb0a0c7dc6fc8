import { describe, expect, test } from "bun:test";
import { type Client, World } from "../testing/kit.ts";
import { RoomsWorld } from "../testing/rooms.ts";

const PUBLISH = '{"type":"publish","channel":"c","data":1}';
const PING = '{"type":"ping"}';

const limited = (framesPerSecond = 100, framesBurst = 500): { world: World; ann: Client } => {
  const world = new World({ rates: { framesPerSecond, framesBurst } });
  return { world, ann: world.connect("ann") };
};

/** How many frames a client may send now before it is cut; at most `most`. */
function sends(client: Client, frame: string | Buffer<ArrayBuffer>, most = 2000): number {
  for (let sent = 0; sent < most; sent++) {
    client.socket.message(frame);
    if (client.socket.closed) return sent;
  }
  return most;
}

describe("frames", () => {
  test("pass up to the burst; the next one closes with 4011 and has no effect", () => {
    const { world, ann } = limited();
    const ben = world.join("ben", "c");
    expect(sends(ann, PUBLISH)).toBe(500);
    expect([ann.closeCode, ben.take().length]).toEqual([4011, 500]);
    expect(world.node.metrics.rateCuts.value).toBe(1);
  });

  test("are refilled at the rate per second, up to the burst", () => {
    for (const [waitMs, expected] of [
      [0, 0],
      [9, 0],
      [10, 1],
      [1000, 100],
      [3000, 300],
      [60_000, 500],
    ] as const) {
      const { world, ann } = limited();
      for (let i = 0; i < 500; i++) ann.text(PUBLISH);
      world.advance(waitMs);
      expect(sends(ann, PUBLISH)).toBe(expected);
    }
  });

  test("at the steady rate never cut a connection; a little above it they do", () => {
    const run = (everyMs: number): number | undefined => {
      const { world, ann } = limited();
      for (let i = 0; i < 6000 && !ann.socket.closed; i++) {
        ann.text(PUBLISH);
        world.advance(everyMs);
      }
      return ann.closeCode;
    };
    expect([run(10), run(9)]).toEqual([undefined, 4011]);
  });

  test("that are malformed, binary, unknown or refused count as well", () => {
    for (const frame of ["nonsense", "{}", '{"type":"x"}', '{"type":"publish","channel":""}', Buffer.alloc(3)]) {
      const { ann } = limited(10, 20);
      expect(sends(ann, frame)).toBe(20);
      expect(ann.closeCode).toBe(4011);
    }
  });

  test("have a bucket per connection, also for connections of one peer", () => {
    const { world, ann } = limited(10, 20);
    sends(ann, PUBLISH);
    const second = world.connect("ann");
    expect(sends(second, PUBLISH)).toBe(20);
  });

  test("are not affected by a wall clock that jumps", () => {
    for (const ms of [86_400_000, -86_400_000]) {
      const { world, ann } = limited(10, 20);
      for (let i = 0; i < 15; i++) ann.text(PUBLISH);
      world.clock.jump(ms);
      expect(sends(ann, PUBLISH)).toBe(5);
    }
  });

  test("without a limit never cut a connection", () => {
    const { ann } = limited(0, 500);
    expect(sends(ann, PUBLISH)).toBe(2000);
  });
});

describe("pings", () => {
  for (const [name, frame] of [
    ["plain", PING],
    ["with an id", '{"type":"ping","requestId":"x"}'],
  ] as const) {
    test(`${name}: 20 at once, 10 per second, then 4011`, () => {
      const { world, ann } = limited();
      for (let i = 0; i < 20; i++) ann.text(frame);
      world.advance(1000);
      expect(sends(ann, frame)).toBe(10);
      expect([ann.closeCode, ann.take().length]).toEqual([4011, 30]);
    });

    test(`${name}: do not count as frames, and pass when those are used up`, () => {
      const { ann } = limited(10, 20);
      for (let i = 0; i < 10; i++) ann.text(frame);
      for (let i = 0; i < 20; i++) ann.text(PUBLISH);
      for (let i = 0; i < 10; i++) ann.text(frame);
      expect([ann.closeCode, ann.take().length]).toEqual([undefined, 20]);
      ann.text(PUBLISH);
      expect(ann.closeCode).toBe(4011);
    });
  }

  test("have their limit even if frames have none, and after a long silence", () => {
    const { world, ann } = limited(0, 500);
    world.advance(50_000);
    expect(sends(ann, PING)).toBe(20);
  });

  test("never fill the bucket of frames above its burst", () => {
    const { world, ann } = limited(10, 20);
    for (let i = 0; i < 100; i++) {
      ann.text('{"type":"ping","requestId":"x"}');
      world.advance(100);
    }
    expect(sends(ann, PUBLISH)).toBe(20);
  });
});

describe("WebSocket control frames", () => {
  const until4011 = (client: Client, send: () => void): number => {
    let sent = 0;
    for (; sent < 2000; sent++) {
      send();
      if (client.socket.closed) break;
    }
    return sent;
  };

  for (const [name, send] of [
    ["pings", (client: Client) => client.socket.clientPing()],
    ["unasked pongs", (client: Client) => client.socket.pong("")],
    ["pongs to a ping that was never sent", (client: Client) => client.socket.pong("7")],
  ] as const) {
    test(`${name}: 100 at once, 10 per second, then 4011`, () => {
      const { world, ann } = limited();
      for (let i = 0; i < 100; i++) send(ann);
      world.advance(1000);
      expect(until4011(ann, () => send(ann))).toBe(10);
      expect([ann.closeCode, world.node.metrics.rateCuts.value]).toEqual([4011, 1]);
    });

    test(`${name}: one per second for hours is never cut`, () => {
      const { world, ann } = limited();
      for (let i = 0; i < 10_000; i++) {
        world.advance(1000);
        send(ann);
      }
      expect(ann.closeCode).toBeUndefined();
    });
  }

  test("count neither as frames nor as pings", () => {
    const { ann } = limited(10, 20);
    for (let i = 0; i < 100; i++) ann.socket.clientPing();
    for (let i = 0; i < 20; i++) ann.text(PING);
    expect(sends(ann, PUBLISH)).toBe(20);
  });

  test("that answer our own pings do not count, once each", () => {
    const { ann } = limited();
    ann.withholdPongs();
    for (let i = 0; i < 200; i++) ann.subscribe("c");
    for (const payload of ann.socket.pings) ann.socket.pong(payload);
    expect(ann.closeCode).toBeUndefined();
    expect(until4011(ann, () => ann.socket.pong("200"))).toBe(100);
  });

  test("that carry the number of no ping bring no roster", () => {
    const { world, ann } = limited();
    ann.withholdPongs();
    ann.subscribe("c");
    for (const payload of ["2", "01", "1.0", "1e0", " 1", "0x1", "99", "Infinity"]) ann.socket.pong(payload);
    world.advance(100);
    expect(ann.newFrames()).toEqual(["ack r1"]);
    ann.socket.pong("1");
    world.advance(100);
    expect(ann.newFrames()).toEqual(["roster:"]);
  });

  test("keep a connection alive, as any frame does", () => {
    const { world, ann } = limited();
    ann.withholdPongs();
    for (let i = 0; i < 20; i++) {
      world.advance(20_000);
      ann.socket.clientPing();
    }
    expect(ann.closeCode).toBeUndefined();
  });
});

describe("frames of a visitor who waits in a lobby", () => {
  const PING_WITH_ID = '{"type":"ping","requestId":"p"}';

  async function visitor(framesPerSecond = 100, framesBurst = 500): Promise<{ world: RoomsWorld; visitor: Client }> {
    const world = new RoomsWorld({ rates: { framesPerSecond, framesBurst } });
    return { world, visitor: await world.enter("t1", { kind: "wait" }) };
  }

  test("pass in a burst of 200, then 20 per second; a participant inside has the whole rate", async () => {
    for (const [waitMs, expected] of [
      [0, 0],
      [50, 1],
      [500, 10],
      [60_000, 200],
    ] as const) {
      const { world, visitor: one } = await visitor();
      for (let i = 0; i < 200; i++) one.text("nonsense");
      world.advance(waitMs);
      expect(sends(one, "nonsense")).toBe(expected);
      expect(one.closeCode).toBe(4011);
      expect(sends(await world.enter("ann"), "nonsense")).toBe(500);
    }
  });

  test("do not include pings", async () => {
    const { visitor: one } = await visitor();
    for (let i = 0; i < 20; i++) one.text(PING_WITH_ID);
    expect(sends(one, "nonsense")).toBe(200);
  });

  test("are limited by the settings where these allow less, and not at all without a rate", async () => {
    expect(sends((await visitor(1, 3)).visitor, "nonsense")).toBe(3);
    expect(sends((await visitor(0)).visitor, "nonsense")).toBe(2000);
  });
});
