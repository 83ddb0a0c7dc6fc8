/** Too much of what is allowed: floods, storms, crowds, and peers that do not read or answer. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { fresh } from "../conformance/raw/support/world.ts";
import { nextTurn, until } from "../support/wait.ts";
import { connect } from "../support/wire/connect.ts";
import { bits, OPCODE } from "../support/wire/frames.ts";
import type { Wire } from "../support/wire/wire.ts";
import { handshake, RawConnection } from "./support/connection.ts";
import { crowd, FULL, Siege } from "./support/siege.ts";

setDefaultTimeout(FULL ? 300_000 : 60_000);

/** How many connections each flood has. */
const FLOOD = FULL ? 300 : 100;
const CONNECTS = FULL ? 10_000 : 300;
/** To clients that do not read. */
const PUBLISH_EVERY_MS = 500;
const PING = '{"type":"ping"}';
/** All four actions: the peer is announced in presence, and sees it. */
const SEEN = { permissions: ["publish", "subscribe", "send", "presence"] };

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.start();
});
afterAll(() => siege.stop());

const connections = async (): Promise<number> => (await readMetrics(siege.world.server)).get("parley_connections");

/** Waits until the server has noticed that the attack's connections are gone; only the healthy pair, if any, stays. */
const onlyHealthyLeft = (): Promise<unknown> =>
  until("the attack's connections are gone", async () => (await connections()) <= 2, 10_000);

const peersIn = async (channel: string): Promise<number> => {
  const { body } = await siege.world.rest<{ peers: unknown[] }>("GET", `/v1/channels/${channel}/peers`);
  return body.peers.length;
};

const times = (count: number, bytes: Uint8Array): Buffer => Buffer.concat(Array<Uint8Array>(count).fill(bytes));
const textFrame = (payload: object | string): Buffer =>
  bits({ opcode: OPCODE.text, payload: typeof payload === "string" ? payload : JSON.stringify(payload) });

describe("floods of frames", () => {
  /** Ten peers send it 3,000 times at once; each must be closed with 4011. */
  const closesWith4011 = (frame: Uint8Array): Promise<void> =>
    siege.withstands(async () => {
      const flood = times(3000, frame);
      const codes = await crowd(10, 5, async () => {
        const wire = await siege.wire();
        wire.raw(flood);
        return (await wire.closed()).code;
      });
      expect([...new Set(codes)]).toEqual([4011]);
    });

  test("publishes close with 4011", () => closesWith4011(textFrame({ type: "publish", channel: "flood", data: 1 })));
  test("sends to a missing peer close with 4011", () =>
    closesWith4011(textFrame({ type: "send", to: "no-such-peer", data: 1, requestId: "r" })));
  test("subscribes to one channel close with 4011", () =>
    closesWith4011(textFrame({ type: "subscribe", channel: "flood" })));
  test("pings close with 4011", () => closesWith4011(textFrame(PING)));
  test("pings with a requestId close with 4011", () => closesWith4011(textFrame({ type: "ping", requestId: "r" })));
  test("malformed frames close with 4011", () => closesWith4011(textFrame("{")));
  test("empty frames close with 4011", () => closesWith4011(textFrame("")));
  test("binary frames close with 4011", () => closesWith4011(bits({ opcode: OPCODE.binary, payload: "x" })));

  test("WebSocket pings close with 4011", () => closesWith4011(bits({ opcode: OPCODE.ping, payload: "x" })));
  test("unsolicited WebSocket pongs close with 4011", () =>
    closesWith4011(bits({ opcode: OPCODE.pong, payload: "1" })));

  test("100 WebSocket pings at once are all answered, and 100 pongs change nothing", () =>
    siege.withstands(async () => {
      for (const opcode of [OPCODE.ping, OPCODE.pong]) {
        const wire = await siege.wire();
        wire.raw(times(100, bits({ opcode, payload: "x" })));
        expect(await wire.sync()).toEqual([]);
        const pongs = wire.events.filter(({ kind }) => kind === "pong").length;
        expect(pongs).toBe(opcode === OPCODE.ping ? 100 : 0);
      }
    }));

  test("a client that sends WebSocket pings and never reads the pongs is closed", () =>
    siege.withstands(async () => {
      const flood = times(20_000, bits({ opcode: OPCODE.ping, payload: "x".repeat(125) }));
      await crowd(4, 4, async () => {
        const wire = await siege.wire();
        wire.stopReading();
        // Far more than the kernel and the server together buffer for it.
        for (let i = 0; i < 10; i++) {
          wire.raw(flood);
          await nextTurn();
        }
      });
      await onlyHealthyLeft();
    }));
});

describe("floods of connects", () => {
  test("without a credential are each refused", () =>
    siege.withstands(async () => {
      const statuses = await crowd(FLOOD, 50, async (at) => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write(handshake(["", "key=pk_live_nobody", "token=a.b.c", "key=a&token=b"][at % 4] as string));
        const status = await connection.status();
        connection.drop();
        return status;
      });
      expect([...new Set(statuses)]).toEqual([401]);
    }));

  test("dropped before the response leave nothing behind", () =>
    siege.withstands(async () => {
      await crowd(FLOOD, 50, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write(handshake(siege.query(SEEN)));
        connection.drop();
      });
      await onlyHealthyLeft();
    }));

  test("by one peer are each counted, and gone afterwards", () =>
    siege.withstands(async () => {
      const sub = fresh("many");
      const wires = await crowd(FLOOD, 50, () => siege.wire({ ...SEEN, sub }));
      expect(await connections()).toBeGreaterThanOrEqual(FLOOD);
      for (const wire of wires) wire.drop();
      await onlyHealthyLeft();
    }));

  test("from one address are refused past its rate, and those from other addresses are not", async () => {
    const limited = await Siege.start({ PARLEY_CONNECTS_PER_MINUTE_PER_IP: "60" });
    let at = 0;
    try {
      await limited.withstands(async () => {
        const from = `127.0.0.${10 + at++}`;
        const beganMs = performance.now();
        const statuses = await crowd(FLOOD, 50, async () => {
          const connection = limited.keep(await RawConnection.open(limited.url, { from }));
          connection.write(handshake(limited.query()));
          return connection.status();
        });
        const admitted = statuses.filter((status) => status === 101).length;
        expect([...new Set(statuses)].sort()).toEqual([101, 429]);
        expect(admitted).toBeGreaterThanOrEqual(60);
        expect(admitted).toBeLessThan(80 + (performance.now() - beganMs) / 1000);
      });
    } finally {
      await limited.stop();
    }
  });
});

describe("connects and drops", () => {
  test(`${CONNECTS} that connect, subscribe and end in different ways leave nothing behind`, () =>
    siege.withstands(async () => {
      const channel = fresh("come-and-go");
      await crowd(CONNECTS, 40, async (at) => {
        const wire = await connect(siege.url, { query: siege.query(SEEN) });
        await wire.frame("welcome");
        wire.send({ type: "subscribe", channel: `${channel}/${at % 20}` });
        if (at % 3 === 0) wire.close();
        else if (at % 3 === 1) await wire.request({ type: "publish", channel: `${channel}/${at % 20}`, data: at });
        // The rest end in the middle of a frame.
        else wire.raw(textFrame(PING).subarray(0, 3));
        wire.drop();
      });
      await onlyHealthyLeft();
      const { body } = await siege.world.rest<{ data: unknown[] }>("GET", `/v1/channels?prefix=${channel}`);
      expect(body.data).toEqual([]);
    }));
});

describe("storms", () => {
  test("twenty peers that subscribe and unsubscribe without pause leave nothing behind", () =>
    siege.withstands(async () => {
      const stem = fresh("storm");
      await crowd(20, 20, async (peer) => {
        const wire = await siege.wire(SEEN);
        const frames = Array.from({ length: 400 }, (_, i) => ({
          type: i % 2 === 0 ? "subscribe" : "unsubscribe",
          channel: `${stem}/${(peer + (i >> 1)) % 10}`,
        }));
        wire.send(...frames);
        const errors = (await wire.sync()).filter(({ type }) => type === "error");
        expect(errors).toEqual([]);
      });
      const { body } = await siege.world.rest<{ data: unknown[] }>("GET", `/v1/channels?prefix=${stem}`);
      expect(body.data).toEqual([]);
    }));

  test("channels past the hundredth are refused, and the hundred end with their peer", () =>
    siege.withstands(async () => {
      const stem = fresh("wide");
      await crowd(10, 10, async (peer) => {
        const wire = await siege.wire(SEEN);
        wire.send(...Array.from({ length: 200 }, (_, i) => ({ type: "subscribe", channel: `${stem}/${peer}/${i}` })));
        const errors = (await wire.sync()).filter(({ type }) => type === "error");
        expect(errors.length).toBe(100);
        wire.drop();
      });
      await onlyHealthyLeft();
      const { body } = await siege.world.rest<{ data: unknown[] }>("GET", `/v1/channels?prefix=${stem}`);
      expect(body.data).toEqual([]);
    }));
});

describe("peers that do not read or answer", () => {
  test("a client that never reads is closed, and clients that read get everything", () =>
    siege.withstands(async () => {
      const channel = fresh("slow");
      const joined = async (): Promise<Wire> => {
        const wire = await siege.wire();
        await wire.request({ type: "subscribe", channel });
        return wire;
      };
      const slow = await crowd(10, 10, joined);
      const reader = await joined();
      const publisher = await siege.wire();
      for (const wire of slow) wire.stopReading();
      const data = "x".repeat(60_000);
      for (let i = 0; i < 150; i++) {
        expect((await publisher.request({ type: "publish", channel, data: `${i} ${data}` })).type).toBe("ack");
        expect(String((await reader.until("message")).data).split(" ", 1)).toEqual([String(i)]);
      }
      for (const wire of slow) wire.goOnReading();
      for (const wire of slow) await wire.gone();
    }));

  test("a client that sends requests and never reads the responses is closed", () =>
    siege.withstands(async () => {
      const sub = fresh("deaf");
      const wire = await siege.wire({ sub });
      const feeder = await siege.wire();
      wire.stopReading();
      const data = "x".repeat(60_000);
      let answer = "ack";
      for (let i = 0; i < 300 && answer === "ack"; i++)
        answer = (await feeder.request({ type: "send", to: sub, data })).type;
      expect(answer).toBe("error");
    }));

  test("a client that half-closes its connection leaves presence at once", () =>
    siege.withstands(async () => {
      const channel = fresh("half");
      const watcher = await siege.wire(SEEN);
      await watcher.request({ type: "subscribe", channel });
      await crowd(20, 20, async (at) => {
        const sub = `half-${at}`;
        const connection = siege.keep(await RawConnection.open(siege.url, { halfOpen: true }));
        connection.write(handshake(siege.query({ ...SEEN, sub })));
        await connection.hears((received) => received.includes('"welcome"'));
        connection.write(textFrame({ type: "subscribe", channel }));
        // It is a member once it has its roster.
        await connection.hears((received) => received.includes('"snapshot":true'));
        connection.finish();
        await connection.ended;
      });
      await until("only one is left", async () => (await peersIn(channel)) === 1);
    }));

  test("200 clients that neither read nor answer pings delay no other", () =>
    siege.withstands(async () => {
      const channel = fresh("mute");
      await crowd(200, 50, async () => {
        const wire = await siege.wire(SEEN);
        wire.answersPings = false;
        wire.send({ type: "subscribe", channel });
        wire.stopReading();
      });
      const watcher = await siege.wire(SEEN);
      await watcher.request({ type: "subscribe", channel });
      // Without a pong each of them joins half a second late, but joins.
      for (let seen = 0; seen < 200; ) seen += (await watcher.until("presence")).joined.length;
      const publisher = await siege.wire();
      for (let i = 0; i < 20; i++) {
        await publisher.request({ type: "publish", channel, data: "x".repeat(1000) });
        await watcher.until("message");
      }
    }));

  test.if(FULL)(
    "50 clients that fall silent are closed within little more than 60 s, even while messages are sent to them",
    () =>
      siege.withstands(async () => {
        const channel = fresh("silent");
        await crowd(50, 50, async () => {
          const wire = await siege.wire(SEEN);
          wire.answersPings = false;
          await wire.request({ type: "subscribe", channel });
        });
        const watcher = await siege.wire(SEEN);
        await watcher.request({ type: "subscribe", channel });
        const isAlone = async (): Promise<boolean> => {
          await watcher.request({ type: "publish", channel, data: 1 });
          await Bun.sleep(PUBLISH_EVERY_MS);
          return (await peersIn(channel)) === 1;
        };
        await until("only the watcher is left", isAlone, 100_000);
      }),
  );
});
