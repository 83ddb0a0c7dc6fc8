/** Workers that do not read, send garbage, are killed, or are replaced. */
import { afterEach, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { IS_FULL } from "../../../test/support/slack.ts";
import { nextTurn, until as polled } from "../../../test/support/wait.ts";
import { UnixFolder } from "../testing/unix-folder.ts";
import type { Transport, TransportEvents } from "./transport.ts";
import { BUS_VERSION, FRAME, MAGIC, PAYLOAD_MAX_BYTES, putU16, putU32 } from "./unix/frames.ts";
import { UnixTransport } from "./unix.ts";

const WAIT_MS = 40_000;

let folder: UnixFolder;
const children: Bun.Subprocess[] = [];
const open = async (): Promise<UnixFolder> => {
  folder = new UnixFolder();
  return folder;
};
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await folder.remove();
});

function record<T extends Transport>(transport: T): { transport: T; events: string[] } {
  const events: string[] = [];
  const listed: TransportEvents = {
    down: () => events.push("down"),
    up: () => events.push("up"),
    noResponders: (replyTo) => events.push(`no responders: ${replyTo}`),
    receiverFailed: (error) => events.push(`receiver failed: ${error}`),
    failed: (error) => events.push(`failed: ${error}`),
  };
  transport.on(listed);
  return { transport, events };
}

const until = (condition: () => boolean | Promise<boolean>): Promise<unknown> =>
  polled("the condition holds", condition, WAIT_MS);

const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);

async function startWorker(slot: number): Promise<Bun.Subprocess> {
  const program = join(import.meta.dir, "../testing/unix-worker.ts");
  const child = Bun.spawn([process.execPath, "--no-env-file", program, folder.path, String(slot), "4"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  for await (const part of child.stdout) if (textOf(part).includes("ready")) break;
  return child;
}

/** Resolves with the answer of the workers that answer on "echo". */
async function echo(transport: Transport, text: string): Promise<string> {
  const answers: string[] = [];
  const subscription = transport.subscribe("reply.*", (payload) => answers.push(textOf(payload)));
  transport.publish("echo", text, "reply.1");
  await until(() => answers.length > 0);
  subscription.end();
  return answers.join();
}

test("a worker that does not read is cut at the bound, and is resynchronised when it reads again", async () => {
  const { warnings } = await open();
  const a = record(await folder.join({ queueMaxBytes: 1024 * 1024 }));
  const b = record(await folder.join());
  const received: string[] = [];
  b.transport.subscribe("s", (payload) => received.push(textOf(payload).trimEnd()));
  await b.transport.flush();
  folder.relay(0).isStalled = true;
  const text = "x".repeat(10_000);
  for (let i = 0; warnings.length === 0; i++) {
    a.transport.publish("s", `${i} ${text}`);
    if (i % 50 === 0) await nextTurn();
    expect(i).toBeLessThan(2000);
  }
  expect(warnings).toEqual([
    expect.stringMatching(/^the connection to worker 1 is closed: it does not read: \d+ bytes/),
  ]);
  folder.relay(0).release();
  await until(() => b.events.length === 2 && a.events.length === 2);
  expect([a.events, b.events]).toEqual([
    ["down", "up"],
    ["down", "up"],
  ]);
  a.transport.publish("s", "after");
  await a.transport.flush();
  expect(received.at(-1)).toBe("after");
  // What arrived before the cut is a beginning of what was sent.
  const numbers = received.slice(0, -1).map((one) => Number.parseInt(one, 10));
  expect(numbers).toEqual([...numbers.keys()]);
});

test("what a process had sent when it was killed is received, and its end is no outage", async () => {
  await open();
  const a = record(await folder.join({ slot: 0 }));
  const received: number[] = [];
  a.transport.subscribe("bursts", (payload) => received.push(Number.parseInt(textOf(payload), 10)));
  const child = await startWorker(1);
  // Less than the kernel's buffer of a socket.
  a.transport.publish("burst", "500");
  await child.exited;
  await until(() => received.length === 500);
  expect(received).toEqual([...Array(500).keys()]);
  // The end of the socket may come a moment after the last payload.
  await until(() => {
    a.transport.publish("echo", "x", "reply.1");
    return a.events.length > 0;
  });
  expect(new Set(a.events)).toEqual(new Set(["no responders: reply.1"]));
});

test("a worker that replaces a killed one in its slot is a new node, although the socket file was left", async () => {
  await open();
  const a = record(await folder.join({ slot: 0 }));
  const c = record(await folder.join({ slot: 2 }));
  for (const text of ["first", "second", "third"]) {
    const child = await startWorker(1);
    expect([await echo(a.transport, text), await echo(c.transport, text)]).toEqual([text, text]);
    child.kill("SIGKILL");
    await child.exited;
  }
  expect([a.events, c.events]).toEqual([[], []]);
});

test("a stopped process costs the others nothing, and goes on where it was", async () => {
  await open();
  const a = record(await folder.join({ slot: 0 }));
  const child = await startWorker(1);
  child.kill("SIGSTOP");
  const answers: string[] = [];
  a.transport.subscribe("reply.*", (payload) => answers.push(textOf(payload)));
  for (let i = 0; i < 5000; i++) a.transport.publish("echo", `${i}`, "reply.1");
  await new Promise((resolve) => setImmediate(resolve));
  expect([answers, a.transport.isUp]).toEqual([[], true]);
  child.kill("SIGCONT");
  await until(() => answers.length === 5000);
  expect(answers).toEqual(Array.from({ length: 5000 }, (_, i) => `${i}`));
  expect(a.events).toEqual([]);
});

test("a stopped process that is cut: a worker that has no other connection is down until it goes on, the others stay up", async () => {
  const { warnings } = await open();
  const a = record(await folder.join({ slot: 0, queueMaxBytes: 100_000 }));
  const child = await startWorker(1);
  const overflow = (): void => {
    for (let i = 0; i < 200; i++) a.transport.publish("echo", "x".repeat(4000));
  };
  child.kill("SIGSTOP");
  overflow();
  await until(() => !a.transport.isUp);
  child.kill("SIGCONT");
  await until(() => a.transport.isUp);
  expect([await echo(a.transport, "again"), a.events]).toEqual(["again", ["down", "up"]]);

  const c = record(await folder.join({ slot: 2 }));
  child.kill("SIGSTOP");
  overflow();
  expect(warnings.at(-1)).toContain("the connection to worker 1 is closed: it does not read");
  // Also the attempts to connect, which the stopped process does not answer, are over.
  await until(() => warnings.at(-1)?.includes("it has not answered") === true);
  expect([a.transport.isUp, c.transport.isUp]).toEqual([true, true]);
  child.kill("SIGCONT");
  await until(() => a.events.length === 4);
  expect([await echo(a.transport, "again"), await echo(c.transport, "again")]).toEqual(["again", "again"]);
  expect([a.events, c.events]).toEqual([["down", "up", "down", "up"], []]);

  // Killed instead: it is gone, and the one that replaces it is new.
  child.kill("SIGSTOP");
  overflow();
  child.kill("SIGKILL");
  await child.exited;
  await startWorker(1);
  expect(await echo(a.transport, "new")).toBe("new");
  expect([a.events.length, c.events]).toEqual([4, []]);
});

test("a slot with a running process is refused; a socket file that a process left is replaced", async () => {
  await open();
  const stale = join(folder.path, "stale.sock");
  const listener = Bun.listen({ unix: stale, socket: { data: () => undefined } });
  renameSync(stale, folder.pathOf(0));
  const options = { folder: folder.path, slot: 0, slots: 2 };
  await expect(UnixTransport.join(options)).rejects.toThrow("a worker of slot 0 is already running");
  listener.stop(true);
  const transport = await UnixTransport.join(options);
  await expect(UnixTransport.join(options)).rejects.toThrow("already running");
  await transport.close();
  await (await UnixTransport.join(options)).close();
});

test("a folder whose sockets would have too long a path is refused", async () => {
  await open();
  const long = join(folder.path, "x".repeat(100));
  await expect(UnixTransport.join({ folder: long, slot: 0, slots: 1 })).rejects.toThrow("is longer than 107 bytes");
});

const frame = (type: number, body: Uint8Array): Buffer => {
  const bytes = Buffer.alloc(5 + body.length);
  putU32(bytes, 0, 1 + body.length);
  bytes[4] = type;
  bytes.set(body, 5);
  return bytes;
};

const hello = (version = BUS_VERSION, magic = MAGIC, slot = 3): Buffer => {
  const body = Buffer.alloc(9, "i");
  putU16(body, putU16(body, putU32(body, 0, magic), version), slot);
  return frame(FRAME.hello, body);
};

const bytes = (...numbers: number[]): Uint8Array => Uint8Array.of(...numbers);

test.each([
  ["another protocol", [Buffer.from("GET / HTTP/1.1\r\nhost: x\r\n\r\n")], "it announces a frame of 542393671 bytes"],
  ["an empty frame", [Buffer.alloc(4)], "it announces a frame of 0 bytes"],
  ["no hello", [frame(FRAME.ping, bytes(1, 0, 0, 0))], "it does not begin with a hello"],
  ["a hello of something else", [hello(BUS_VERSION, 7)], "it does not begin with a hello"],
  ["a second hello", [hello(), hello()], "it does not begin with a hello"],
  ["another version", [hello(BUS_VERSION + 1)], `it uses version ${BUS_VERSION + 1} of the frames between workers`],
  ["an unknown type", [hello(), frame(99, bytes(0, 0, 0, 0))], "it has sent a frame of the unknown type 99"],
  ["half a number", [hello(), frame(FRAME.ping, bytes(1, 0))], "it has sent an incomplete frame of type 7"],
  [
    "subjects that are longer than the frame",
    [hello(), frame(FRAME.addressed, bytes(1, 0, 0, 0, 9, 0, 9, 0, 65))],
    "it has sent a message that is shorter than its subjects",
  ],
])("%s is closed with a sentence that names the fault", async (_, parts, sentence) => {
  const { warnings } = await open();
  const a = record(await folder.join({ slot: 0 }));
  const b = record(await folder.join({ slot: 1 }));
  const closed = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    unix: folder.pathOf(0),
    socket: { data: () => undefined, close: () => closed.resolve() },
  });
  socket.write(Buffer.concat(parts));
  await closed.promise;
  expect(warnings).toEqual([expect.stringContaining(sentence)]);
  // The others are not affected.
  const received: string[] = [];
  b.transport.subscribe("s", (payload) => received.push(textOf(payload)));
  await b.transport.flush();
  a.transport.publish("s", "1");
  await a.transport.flush();
  expect([received, a.events, b.events]).toEqual([["1"], [], []]);
});

test("a connection that says nothing is closed, and a worker in a slot that does not exist is not connected", async () => {
  const { warnings } = await open();
  await folder.join({ slot: 0 });
  const closed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const greetings = [Buffer.alloc(0), hello(BUS_VERSION, MAGIC, 77)];
  for (const [at, greeting] of greetings.entries()) {
    const socket = await Bun.connect({
      unix: folder.pathOf(0),
      socket: { data: () => undefined, close: () => closed[at]?.resolve() },
    });
    socket.write(greeting);
  }
  await Promise.all(closed.map(({ promise }) => promise));
  expect(warnings).toEqual([expect.stringContaining("it has not answered within 1000 ms")]);
});

/** All of them are announced before the other side answers, for which it has a second. */
const SUBSCRIPTIONS = IS_FULL ? 100_000 : 20_000;

test(`${SUBSCRIPTIONS} subscriptions are announced to a worker that joins later, and end with their worker`, async () => {
  await open();
  // Far less than the announcement: it does not count towards the bound.
  const a = record(await folder.join({ queueMaxBytes: 64 * 1024 }));
  const received: string[] = [];
  const receive = (_payload: unknown, subject: string): unknown => received.push(subject);
  for (let i = 0; i < SUBSCRIPTIONS; i++) a.transport.subscribe(`peer.${i}`, receive);
  const b = record(await folder.join());
  // On a busy machine a connection may be given up before all are announced, and be made again: only waiting between the tries lets it.
  const probe = `peer.${SUBSCRIPTIONS - 2}`;
  await until(async () => {
    b.transport.publish(probe, "x");
    await b.transport.flush();
    return received.length > 0;
  });
  for (const i of [0, 4711, SUBSCRIPTIONS - 1, SUBSCRIPTIONS]) b.transport.publish(`peer.${i}`, "x", `reply.${i}`);
  await until(() => received.at(-1) === `peer.${SUBSCRIPTIONS - 1}`);
  expect(received.filter((subject) => subject !== probe)).toEqual(["peer.0", "peer.4711", `peer.${SUBSCRIPTIONS - 1}`]);
  await a.transport.drain();
  b.transport.publish("peer.1", "x", "reply.1");
  await until(() => b.events.length >= 2);
  expect(b.events).toEqual([`no responders: reply.${SUBSCRIPTIONS}`, "no responders: reply.1"]);
});

test("payloads of all sizes keep their order across subjects, in both directions at once", async () => {
  await open();
  const workers = [await folder.join(), await folder.join(), await folder.join()].map(record);
  const sizes = [0, 1, 200, 5000, 70_000, 300_000, PAYLOAD_MAX_BYTES];
  const received: string[][] = workers.map(() => []);
  for (const [at, { transport }] of workers.entries())
    for (const subject of ["a.1", "a.2", "b.*"])
      transport.subscribe(subject, (payload, exact) => {
        const number =
          payload.length < 5 ? payload.length : new DataView(payload.buffer, payload.byteOffset).getUint32(0);
        received[at]?.push(`${exact} ${number} ${payload.length}`);
      });
  for (const { transport } of workers) await transport.flush();
  const expected: string[] = [];
  const [first, second] = workers as [(typeof workers)[0], (typeof workers)[0]];
  for (let i = 0; i < 70; i++) {
    const size = sizes[i % sizes.length] ?? 0;
    const payload = new Uint8Array(size);
    if (size >= 5) new DataView(payload.buffer).setUint32(0, i);
    const subject = ["a.1", "a.2", `b.${i}`][i % 3] ?? "";
    for (const { transport } of [first, second]) transport.publish(subject, payload);
    // It was copied.
    payload.fill(0xff);
    expected.push(`${subject} ${size < 5 ? size : i} ${size}`);
  }
  await until(() => received[2]?.length === 140 && received[0]?.length === 70 && received[1]?.length === 70);
  expect([received[0], received[1]]).toEqual([expected, expected]);
  for (const { events } of workers) expect(events).toEqual([]);
  first.transport.publish("a.1", new Uint8Array(PAYLOAD_MAX_BYTES + 1));
  expect(first.events).toEqual([expect.stringContaining("is too long")]);
});

test("text of every kind arrives as it was published", async () => {
  await open();
  const [a, b] = [await folder.join(), await folder.join()];
  const received: string[] = [];
  b.subscribe("s", (payload) => received.push(textOf(payload)));
  await b.flush();
  const texts = ["", "é", "€".repeat(4096), "€".repeat(4097), "😀".repeat(3000), "a".repeat(30_000), "\u0000x"];
  for (const text of texts) a.publish("s", text);
  await a.flush();
  expect(received).toEqual(texts);
});

test("a request that was in transit to a subscription as it ended has no responder; a payload without a reply subject is dropped", async () => {
  await open();
  const a = record(await folder.join());
  const b = record(await folder.join());
  const received: string[] = [];
  const ending = b.transport.subscribe("peer", (payload) => received.push(textOf(payload)));
  await b.transport.flush();
  // Both leave in this turn: neither side knows of the other's.
  a.transport.publish("peer", "lost");
  a.transport.publish("peer", "asked", "reply.7");
  ending.end();
  await until(() => a.events.length > 0);
  await a.transport.flush();
  expect([a.events, received]).toEqual([["no responders: reply.7"], []]);
});
