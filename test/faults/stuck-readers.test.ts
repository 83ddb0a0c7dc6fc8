/**
 * Readers of event streams who take nothing, among many who do: the others get every message in time, the node's memory stays as it was, and those
 * who are stuck are cut, and go on behind what they have taken.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { numberOf, type StreamsHttp } from "../support/streams/http.ts";
import { streamApp, streamName } from "../support/streams/load.ts";
import { SOON_MS, until } from "../support/wait.ts";

setDefaultTimeout(240_000);

const READERS = IS_FULL ? 2000 : 200;
const STUCK = IS_FULL ? 20 : 10;
const MESSAGES = IS_FULL ? 100 : 30;
/** More than the sockets of both sides hold. */
const BACKLOG = 160;
const TEXT = "x".repeat(60_000);
/** What the pages and texts of these readers may take, with what a process takes anyway under load. */
const GROWTH_MAX_MIB = 150;
const OPENED_AT_ONCE = 50;
/** Reader's silence, and the time that the rest of an answer may take. */
const CUT_MAX_MS = 60_000;

let server: Server;
beforeAll(async () => {
  server = await startParley({
    env: {
      PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
      PARLEY_REST_REQUESTS_PER_SECOND: "0",
      PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP: "0",
      PARLEY_DEMO: "off",
    },
  });
});
afterAll(() => server.stop());

const residentMib = (): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;
const waiting = async (): Promise<number> => (await readMetrics(server)).get("parley_stream_readers");

/** An event stream over a socket that the test reads or does not read. */
class EventsSocket {
  text = "";
  isOver = false;
  private readonly socket: Socket;

  constructor(http: StreamsHttp, channel: string, query: string, lastId?: string) {
    const { hostname, port } = new URL(server.url);
    this.socket = connect(Number(port), hostname);
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => {
      this.isOver = true;
    });
    this.socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
    });
    const lastSent = lastId === undefined ? "" : `Last-Event-ID: ${lastId}\r\n`;
    this.socket.write(
      `GET /v1/stream/${channel}?${query}&live=sse HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${http.credential}\r\n${lastSent}\r\n`,
    );
  }

  /** As a client that has stopped: its system takes what fits, and it takes nothing. */
  stick(): this {
    this.socket.pause();
    return this;
  }

  goOn(): void {
    this.socket.resume();
  }

  drop(): void {
    this.socket.destroy();
  }

  /** Where the data ends that has arrived; "" if none has. */
  get id(): string {
    return [...this.text.matchAll(/id: (\d{16}_\S+)/g)].at(-1)?.[1] ?? "";
  }

  /** The numbers in the data that has arrived. */
  get numbers(): number[] {
    return [...this.text.matchAll(/<(\d+)>/g)].map(([, number]) => Number(number));
  }
}

async function opened(http: StreamsHttp, channel: string): Promise<EventsSocket[]> {
  const readers: EventsSocket[] = [];
  while (readers.length < READERS - STUCK) {
    const some = Array.from({ length: Math.min(OPENED_AT_ONCE, READERS - STUCK - readers.length) }, () => {
      return new EventsSocket(http, channel, "offset=now");
    });
    await until("they wait", () => some.every(({ text }) => text.includes("event: control")));
    readers.push(...some);
  }
  return readers;
}

test(`${STUCK} of ${READERS} readers take nothing: the others get ${MESSAGES} messages in time`, async () => {
  const { http } = await streamApp(server.admin, () => [server.url]);
  const stream = streamName("text/plain");
  const { channel } = stream;
  await http.create(stream);
  let sent = 0;
  const write = async (text: string): Promise<void> => {
    const body = Buffer.from(`<${++sent}>${text}`);
    const { status } = await http.ask(channel, { method: "POST", headers: { "Content-Type": stream.type }, body });
    expect(status).toBe(204);
  };
  for (let nr = 0; nr < BACKLOG; nr++) await write(TEXT);
  const stuck = Array.from({ length: STUCK }, () => new EventsSocket(http, channel, "offset=-1").stick());
  const readers = await opened(http, channel);
  await until("all of them wait", async () => (await waiting()) === READERS);
  const before = residentMib();
  const times: number[] = [];
  for (let nr = 0; nr < MESSAGES; nr++) {
    const fromMs = performance.now();
    await write("");
    await until("all have it", () => readers.every(({ text }) => text.includes(`<${sent}>`)));
    times.push(performance.now() - fromMs);
  }
  const growth = Math.round(residentMib() - before);
  const longest = Math.round(Math.max(...times));
  console.log(`${READERS} readers, ${STUCK} of them stuck: longest ${longest} ms, ${growth} MiB more`);
  expect(longest).toBeLessThan(SOON_MS);
  expect(growth).toBeLessThan(GROWTH_MAX_MIB);
  const live = Array.from({ length: MESSAGES }, (_, nr) => BACKLOG + nr + 1);
  for (const reader of readers) expect(reader.numbers).toEqual(live);
  for (const reader of readers) reader.drop();
  await until("those who are stuck are cut", async () => (await waiting()) === 0, CUT_MAX_MS);
  const [one] = stuck;
  if (!one) throw new Error("there is none");
  one.goOn();
  await until("it has ended", () => one.isOver);
  // It has not got all, and goes on behind what it has.
  const [id, first] = [one.id, one.numbers.filter((number) => number <= numberOf(one.id))];
  expect(first.length).toBeLessThan(sent);
  const resumed = new EventsSocket(http, channel, "offset=-1", ...(id === "" ? [] : ([id] as const)));
  await until("it has the rest", () => resumed.numbers.includes(sent));
  expect([...first, ...resumed.numbers]).toEqual(Array.from({ length: sent }, (_, nr) => nr + 1));
  for (const each of [...stuck, resumed]) each.drop();
});
