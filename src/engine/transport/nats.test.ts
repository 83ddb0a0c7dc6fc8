/** The suite of all transports against a real nats-server, and what is particular to NATS. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import { freePort } from "../../testing/ports.ts";
import { type NatsServer, startNats } from "../testing/nats-server.ts";
import { transportSuite } from "../testing/transport.suite.ts";
import { protocolOf } from "./nats/protocol.ts";
import { NatsSocket } from "./nats/socket.ts";
import { connectProblem, NatsTransport } from "./nats.ts";
import { parseNatsUrl } from "./nats-address.ts";
import { NO_EVENTS } from "./transport.ts";

const WAIT_MS = 15_000;

let port: number;
let server: NatsServer;
const start = async (): Promise<void> => {
  server = await startNats([], port);
};
beforeAll(async () => {
  port = await freePort();
  await start();
});
afterAll(() => server?.stop());

transportSuite("NATS", {
  connect: () => NatsTransport.connect({ url: server.url, name: "test" }),
  startOutage: () => server.stop(),
  endOutage: start,
});

describe("the payload limit of the server", () => {
  const connect = async (config: string): Promise<string[]> => {
    const limited = await startNats([], undefined, config);
    const warnings: string[] = [];
    try {
      const options = { url: limited.url, name: "test", warn: (text: string) => void warnings.push(text) };
      await (await NatsTransport.connect(options)).close();
      return warnings;
    } finally {
      await limited.stop();
    }
  };

  test("is named in a warning when it is small, with the value to set", async () => {
    expect(await connect("max_payload: 4096")).toEqual([
      expect.stringContaining("max_payload of the NATS server is 4096 bytes"),
    ]);
    expect(await connect("max_payload: 64KB")).toEqual([]);
  });

  test("is refused when it is below the minimum", async () => {
    await expect(connect("max_payload: 512")).rejects.toThrow(
      "its max_payload is 512 bytes, but Parley needs at least 1024",
    );
  });
});

test("the reason of a failed connect says whether the server is down, refuses the login or cannot be used", async () => {
  const problem = (url: string): Promise<string> =>
    NatsTransport.connect({ url, name: "test" }).then(() => "", connectProblem);
  expect(await problem(`nats://127.0.0.1:${await freePort()}`)).toBe(
    "no server is reachable there (connection refused): start it, or correct the address",
  );
  const strict = await startNats([], undefined, "authorization { user: u, password: p }\nmax_payload: 512");
  try {
    const { port } = strict;
    expect(await problem(`nats://u:wrong@127.0.0.1:${port}`)).toMatch(/^the server refused the login: .*uthorization/);
    expect(await problem(`nats://u:p@127.0.0.1:${port}`)).toStartWith("the server cannot be used: its max_payload");
  } finally {
    await strict.stop();
  }
});

test("a subject that the server refuses is reported, and other subscriptions go on", async () => {
  const config = 'authorization { users: [{ user: u, password: p, permissions: { subscribe: { deny: "secret" } } }] }';
  const strict = await startNats([], undefined, config);
  const url = strict.url.replace("nats://", "nats://u:p@");
  await using stack = new AsyncDisposableStack();
  stack.defer(() => strict.stop());
  const connect = async (): Promise<NatsTransport> =>
    stack.adopt(await NatsTransport.connect({ url, name: "test" }), (one) => one.close());
  const [transport, sender] = [await connect(), await connect()];
  const refused = Promise.withResolvers<unknown>();
  const received = Promise.withResolvers<string>();
  transport.on({ ...NO_EVENTS, failed: (_error, context) => refused.resolve(context) });
  const denied = transport.subscribe("secret", () => refused.resolve("received"));
  transport.subscribe("open", (_payload, subject) => received.resolve(subject));
  expect(await refused.promise).toEqual({ in: "subscribe", subject: "secret" });
  denied.end();
  await transport.flush();
  sender.publish("open", "x");
  expect(await received.promise).toBe("open");
});

test("messages are read without the client, also after a reconnect and where a read ends within one", async () => {
  const own = await startNats([], await freePort());
  await using stack = new AsyncDisposableStack();
  let current = own;
  stack.defer(() => current.stop());
  const connect = async (): Promise<NatsTransport> =>
    stack.adopt(await NatsTransport.connect({ url: own.url, name: "test" }), (one) => one.close());
  const [transport, sender] = [await connect(), await connect()];
  let received = 0;
  transport.subscribe("s", () => received++);
  // More than one read of the socket takes.
  const payload = "x".repeat(3000);
  const pass = async (): Promise<void> => {
    for (const one of [transport, sender]) await one.flush();
    for (let at = 0; at < 200; at++) sender.publish("s", payload);
    for (const one of [sender, transport]) await one.flush();
  };
  const { connection } = transport as unknown as { connection: { stats(): { inMsgs: number } } };
  await pass();
  await own.stop();
  await until("the outage is noticed", () => !transport.isUp && !sender.isUp, WAIT_MS);
  current = await startNats([], own.port);
  await until("both are back", () => transport.isUp && sender.isUp, WAIT_MS);
  await pass();
  expect([received, connection.stats().inMsgs]).toEqual([400, 0]);
});

describe("the client's protocol", () => {
  const nothing = (): void => undefined;
  const whole = {
    connected: true,
    transport: new NatsSocket(),
    parser: { state: 0, parse: nothing },
    subscriptions: { add: nothing, get: nothing, cancel: nothing },
    flush: nothing,
  };

  test("is used if it has everything that is needed", () => {
    expect(protocolOf<unknown>({ protocol: whole }) as unknown).toBe(whole);
  });
  test.each(Object.keys(whole))("is refused without %s", (name) => {
    expect(() => protocolOf({ protocol: { ...whole, [name]: undefined } })).toThrow("not supported");
  });
  test.each([
    ["without a protocol", {}],
    ["with other subscriptions", { protocol: { ...whole, subscriptions: {} } }],
    ["with another socket", { protocol: { ...whole, transport: {} } }],
  ])("is refused %s", (_what, connection) => {
    expect(() => protocolOf(connection)).toThrow("not supported");
  });
});

describe("the address", () => {
  test.each([
    ["nats://a:4222", { servers: ["a:4222"], tls: false }],
    ["tls://a, nats://b:1/,c", { servers: ["a", "b:1", "c"], tls: true }],
    ["nats://ann:p%40ss:word@a", { servers: ["a"], tls: false, user: "ann", pass: "p@ss:word" }],
    ["nats://t0ken@a", { servers: ["a"], tls: false, token: "t0ken" }],
  ])("%s", (url, expected) => {
    expect(parseNatsUrl(url)).toEqual(expected);
  });
});
