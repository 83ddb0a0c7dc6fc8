import { describe, expect, test } from "bun:test";
import { type Client, World } from "./test-kit.ts";

const PUBLISH = '{"type":"publish","channel":"c","data":1}';
const PING = '{"type":"ping"}';

const limited = (framesPerSecond = 100, framesBurst = 500): { world: World; ann: Client } => {
  const world = new World({ rates: { framesPerSecond, framesBurst } });
  return { world, ann: world.connect("ann") };
};

/** How many frames it may send now before it is cut; at most `most`. */
function sends(client: Client, frame: string | Buffer<ArrayBuffer>, most = 2000): number {
  for (let sent = 0; sent < most; sent++) {
    client.socket.message(frame);
    if (client.socket.closed) return sent;
  }
  return most;
}

describe("frames", () => {
  test("a burst passes, the next one closes with 4011 and does nothing", () => {
    const { world, ann } = limited();
    const ben = world.join("ben", "c");
    expect(sends(ann, PUBLISH)).toBe(500);
    expect([ann.closeCode, ben.take().length]).toEqual([4011, 500]);
    expect(world.node.figures.rateCuts.value).toBe(1);
  });

  test("then so many a second come back, up to the burst and no further", () => {
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

  test("at the steady rate nobody is ever cut, a little above it somebody is", () => {
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

  test("malformed, binary, unknown and refused ones are paid for as well", () => {
    for (const frame of ["nonsense", "{}", '{"type":"x"}', '{"type":"publish","channel":""}', Buffer.alloc(3)]) {
      const { ann } = limited(10, 20);
      expect(sends(ann, frame)).toBe(20);
      expect(ann.closeCode).toBe(4011);
    }
  });

  test("each connection has its own bucket, also of one peer", () => {
    const { world, ann } = limited(10, 20);
    sends(ann, PUBLISH);
    const again = world.connect("ann");
    expect(sends(again, PUBLISH)).toBe(20);
  });

  test("a wall clock that jumps gives nothing and takes nothing", () => {
    for (const ms of [86_400_000, -86_400_000]) {
      const { world, ann } = limited(10, 20);
      for (let i = 0; i < 15; i++) ann.text(PUBLISH);
      world.clock.jump(ms);
      expect(sends(ann, PUBLISH)).toBe(5);
    }
  });

  test("without a limit nobody is cut", () => {
    const { ann } = limited(0, 500);
    expect(sends(ann, PUBLISH)).toBe(2000);
  });
});

describe("pings", () => {
  for (const [name, frame] of [
    ["plain", PING],
    ["with an id", '{"type":"ping","requestId":"x"}'],
  ] as const) {
    test(`${name}: 20 at once, 10 a second, then 4011`, () => {
      const { world, ann } = limited();
      for (let i = 0; i < 20; i++) ann.text(frame);
      world.advance(1000);
      expect(sends(ann, frame)).toBe(10);
      expect([ann.closeCode, ann.take().length]).toEqual([4011, 30]);
    });

    test(`${name}: they cost nothing of the frames, and pass where those are used up`, () => {
      const { ann } = limited(10, 20);
      for (let i = 0; i < 10; i++) ann.text(frame);
      for (let i = 0; i < 20; i++) ann.text(PUBLISH);
      for (let i = 0; i < 10; i++) ann.text(frame);
      expect([ann.closeCode, ann.take().length]).toEqual([undefined, 20]);
      ann.text(PUBLISH);
      expect(ann.closeCode).toBe(4011);
    });
  }

  test("have their limit where frames have none, and after a long silence", () => {
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
