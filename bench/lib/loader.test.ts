/** The loader detects faults: a server that loses, duplicates or swaps one delivery of many is caught. */
import { afterEach, expect, test } from "bun:test";
import { payload, type Script } from "../contenders/contender.ts";
import { type Deliveries, measured, open, reconnects, together } from "./loader.ts";

type Socket = Bun.ServerWebSocket<string>;
/** What happens to the hundredth message at one subscriber. */
type Fault = (socket: Socket, text: string) => void;

const SUBSCRIBERS = 20;
const FAULTY_MESSAGE = 100;

const servers: Bun.Server<string>[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop(true))));

/** Relays to all subscribers; one of them gets the fault. */
function relay(fault: Fault, heard: (text: string) => void = () => undefined): number {
  const subscribers: Socket[] = [];
  let messages = 0;
  const server = Bun.serve<string>({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, self) => {
      self.upgrade(request, { data: new URL(request.url).pathname });
    },
    websocket: {
      open: (socket) => {
        if (socket.data === "/s") subscribers.push(socket);
      },
      message: (_publisher, text) => {
        messages++;
        heard(String(text));
        for (const [i, socket] of subscribers.entries()) {
          if (messages === FAULTY_MESSAGE && i === SUBSCRIBERS / 2) fault(socket, String(text));
          else socket.send(text);
        }
      },
    },
  });
  servers.push(server);
  return server.port ?? 0;
}

const script = (path: string): Script => ({ path, steps: [] });

/** In slices until the fault must have occurred, however slow the machine is. */
async function run(fault: Fault): Promise<Deliveries> {
  const port = relay(fault);
  const connections = Array.from({ length: SUBSCRIBERS }, () => ({ script: script("/s"), hears: 0 }));
  const publishers = [{ connection: SUBSCRIBERS, receivers: SUBSCRIBERS, frame: { text: payload(128) } }];
  const plan = { connections: [...connections, { script: script("/p") }], publishers, inFlight: 8 };
  await using session = await open(plan, { port, pids: [process.pid] });
  const slices = [await session.slice(300)];
  while (together(slices).messages <= 2 * FAULTY_MESSAGE) slices.push(await session.slice(300));
  return together(slices);
}

const numbered = (text: string, by: number): string =>
  text.replace(/:(\d{8})/, (_all, number: string) => `:${String(Number(number) + by).padStart(8, "0")}`);

test("complete deliveries are counted", async () => {
  const report = await run((socket, text) => socket.send(text));
  expect(report.messages).toBeGreaterThan(FAULTY_MESSAGE);
  expect(report.deliveries).toBe(report.messages * SUBSCRIBERS);
});

test("a first message of another form is sent before all others, and counts in no window", async () => {
  const lengths: number[] = [];
  const port = relay(
    (socket, text) => socket.send(text),
    (text) => lengths.push(text.length),
  );
  const connections = [{ script: script("/s"), hears: 0 }, { script: script("/p") }];
  const publishers = [{ connection: 1, receivers: 1, frame: { text: payload(128) }, first: { text: payload(16_384) } }];
  await using session = await open({ connections, publishers, inFlight: 1 }, { port, pids: [process.pid] });
  expect(lengths).toEqual([16_384]);
  const { messages } = await session.slice(20);
  expect(lengths.slice(1)).toEqual(new Array<number>(messages).fill(128));
});

test("a lost delivery is detected", async () => {
  await expect(run(() => undefined)).rejects.toThrow("got message 101 after 99: lost or out of order");
});

test("a duplicated delivery is detected", async () => {
  await expect(
    run((socket, text) => {
      socket.send(text);
      socket.send(text);
    }),
  ).rejects.toThrow("got message 100 after 100: duplicated or out of order");
});

test("two swapped deliveries are detected", async () => {
  await expect(
    run((socket, text) => {
      socket.send(numbered(text, 1));
      socket.send(text);
    }),
  ).rejects.toThrow("got message 101 after 99");
});

test("a message of another channel is detected", async () => {
  await expect(run((socket, text) => void socket.send(text.replace("@@0000", "@@0001")))).rejects.toThrow(
    "which is not its own",
  );
});

test("a closed connection is detected", async () => {
  await expect(run((socket) => socket.close(4001))).rejects.toThrow("was closed with 4001");
});

test("a message in fragments, with the mark across two of them, is counted once", async () => {
  const report = await run((socket, text) => {
    socket.send(text.slice(0, 7));
    socket.send(text.slice(7, 9));
    socket.send(text.slice(9));
  });
  expect(report.messages).toBeGreaterThan(FAULTY_MESSAGE);
});

test("connections go to the port they name, and a publisher reaches both servers", async () => {
  const seen = new Map<string, number>();
  const both: Socket[] = [];
  const open = (name: string): number => {
    const server = Bun.serve<string>({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request, self) => {
        self.upgrade(request, { data: new URL(request.url).pathname });
      },
      websocket: {
        open: (socket) => {
          seen.set(name, (seen.get(name) ?? 0) + 1);
          if (socket.data === "/s") both.push(socket);
        },
        message: (_publisher, text) => {
          for (const socket of both) socket.send(text);
        },
      },
    });
    servers.push(server);
    return server.port ?? 0;
  };
  const [first, second] = [open("first"), open("second")];
  const connections = Array.from({ length: 4 }, (_, i) => ({
    script: script("/s"),
    hears: 0,
    ...(i % 4 === 3 && { port: second }),
  }));
  const publishers = [{ connection: 4, receivers: 4, frame: { text: payload(128) } }];
  const plan = { connections: [...connections, { script: script("/p"), port: first }], publishers, inFlight: 1 };
  const target = { port: first, pids: [process.pid, process.ppid] };
  const report = await measured(plan, { warmUpMs: 20, measureMs: 100 }, target);
  expect(seen).toEqual(
    new Map([
      ["first", 4],
      ["second", 1],
    ]),
  );
  expect(report.messages).toBeGreaterThan(0);
  const [own = 0, parent = 0] = report.processSeconds;
  // One value is exact, the other is in whole ticks of 10 ms, up to one off at each of two readings per process.
  expect(Math.abs(own + parent - report.userSeconds - report.systemSeconds)).toBeLessThan(0.05);
});

test("a wave cuts every connection and opens it again, with its script", async () => {
  const events: string[] = [];
  const [clients, waves] = [20, 3];
  const server = Bun.serve<string>({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, self) => {
      self.upgrade(request, { data: new URL(request.url).pathname });
    },
    websocket: {
      message: (socket, text) => {
        events.push(`${socket.data} ${text}`);
        socket.send("welcome");
      },
      close: () => void events.push("lost"),
    },
  });
  servers.push(server);
  const steps = [{ send: "hello" }, { expect: "welcome" }];
  const connections = Array.from({ length: clients }, (_, i) => ({ script: { path: `/${i}`, steps } }));
  const report = await reconnects({ connections, waves, opening: 5 }, { port: server.port ?? 0, pids: [process.pid] });
  expect(report.connects).toBe(clients * waves);
  expect(report.longestSeconds).toBeGreaterThan(0);
  for (let i = 0; i < clients; i++) expect(events.filter((one) => one === `/${i} hello`)).toHaveLength(1 + waves);
  expect(events.filter((one) => one === "lost").length).toBeGreaterThanOrEqual(clients * waves);
});
