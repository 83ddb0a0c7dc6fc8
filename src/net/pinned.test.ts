import { afterAll, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { getServers, setServers } from "node:dns";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { until, within } from "../../test/support/wait.ts";
import { type Address, parseAddress } from "../base/address.ts";
import { NOTHING_ALLOWED, parseAllow } from "./allow.ts";
import type { GuardRules } from "./guard.ts";
import { type PinnedAnswer, postPinned, type Resolve } from "./pinned.ts";

const rulesFor = (allow: string): GuardRules => ({
  allow: parseAllow(allow) ?? NOTHING_ALLOWED,
  ownHosts: [],
  ownPorts: [],
});
const LOOPBACK: Address = [127, 0, 0, 1];

interface Options {
  readonly rules?: GuardRules;
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
  readonly isTrusted?: boolean;
}

const post = (url: string, options: Options = {}): Promise<PinnedAnswer> => {
  const { rules = rulesFor("127.0.0.0/8"), isTrusted = true, ...others } = options;
  const request = { url, isTrusted, headers: { "content-type": "application/json" }, body: "{}" };
  return within("an answer", postPinned(request, { rules, nowMs: Date.now, ...others }));
};

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

let redirected = 0;
const web = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/redirect") return Response.redirect("/target", 307);
    if (pathname === "/target") redirected++;
    if (pathname === "/busy") return new Response("later", { status: 429, headers: { "retry-after": "17" } });
    if (pathname === "/packed")
      return new Response(Bun.gzipSync(Buffer.alloc(5_000_000)), { headers: { "content-encoding": "gzip" } });
    return new Response(`host ${request.headers.get("host")}`);
  },
});
stops.push(() => void web.stop(true));

/** A server that answers as it likes. Resolves to its port. */
async function rawServer(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => serve(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(() => server.close());
  return (server.address() as { port: number }).port;
}

test("a name is resolved once per request, and the connection goes to the address that was checked", async () => {
  const asked: string[] = [];
  const resolve: Resolve = async (name) => {
    asked.push(name);
    // What a name with a short life answers: first what is public, then what is not. Here the second answer is what is refused.
    return asked.length === 1 ? [LOOPBACK] : [[10, 0, 0, 1]];
  };
  const url = `http://hooks.test:${web.port}/`;
  const first = await post(url, { resolve });
  expect(first).toEqual({ status: 200, response: `host hooks.test:${web.port}` });
  expect(asked).toEqual(["hooks.test"]);
  // On every attempt.
  expect(await post(url, { resolve })).toEqual({ error: expect.stringContaining("10.0.0.0/8") });
  expect(asked).toHaveLength(2);
});

test("a name that has a refused address is not connected to", async () => {
  for (const address of ["127.0.0.1", "169.254.169.254", "::1", "64:ff9b::a00:1"])
    expect(
      await post("http://hooks.test/", { resolve: async () => [parseAddress(address) ?? []], rules: rulesFor("") }),
    ).toEqual({ error: expect.stringContaining("is not public") });
});

test("what is open to operators is closed to others", async () => {
  expect(await post(`http://127.0.0.1:${web.port}/`, { isTrusted: false })).toEqual({
    error: expect.stringContaining("loopback (127.0.0.0/8)"),
  });
});

test("a redirect is not followed", async () => {
  expect(await post(`http://127.0.0.1:${web.port}/redirect`)).toMatchObject({ status: 307 });
  expect(redirected).toBe(0);
});

test("Retry-After is read", async () => {
  expect(await post(`http://127.0.0.1:${web.port}/busy`)).toEqual({
    status: 429,
    response: "later",
    retryAfterMs: 17_000,
  });
});

test("a response is not unpacked", async () => {
  const answer = await post(`http://127.0.0.1:${web.port}/packed`);
  expect(answer).toMatchObject({ status: 200 });
  expect("response" in answer && answer.response.length).toBeLessThanOrEqual(1024);
});

test("of 10 GB little is read, and the connection is closed", async () => {
  let sent = 0;
  let isClosed = false;
  const port = await rawServer((socket) => {
    socket.on("close", () => {
      isClosed = true;
    });
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n");
    const more = (): void => {
      while (!socket.destroyed) {
        sent += 65_536;
        if (!socket.write(Buffer.alloc(65_536, "x"))) return void socket.once("drain", more);
      }
    };
    more();
  });
  const answer = await post(`http://127.0.0.1:${port}/`);
  expect(answer).toEqual({ status: 200, response: "x".repeat(1024) });
  await until("the connection is closed", () => isClosed);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test("who hangs, or trickles a head, is given up", async () => {
  const hanging = await rawServer(() => undefined);
  expect(await post(`http://127.0.0.1:${hanging}/`, { timeoutMs: 100 })).toEqual({
    error: "no response within 0.1 s",
  });
  const trickling = await rawServer((socket) => {
    const timer = setInterval(() => socket.destroyed || socket.write("H"), 10);
    socket.on("close", () => clearInterval(timer));
  });
  expect(await post(`http://127.0.0.1:${trickling}/`, { timeoutMs: 300 })).toHaveProperty("error");
});

test("a body that trickles does not hide the status", async () => {
  const port = await rawServer((socket) => {
    socket.write("HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n");
    const timer = setInterval(() => socket.destroyed || socket.write("1\r\nx\r\n"), 10);
    socket.on("close", () => clearInterval(timer));
  });
  const answer = await post(`http://127.0.0.1:${port}/`, { timeoutMs: 200 });
  expect(answer).toMatchObject({ status: 202, response: expect.stringMatching(/^x+$/) });
});

test("an endless head is given up", async () => {
  const port = await rawServer((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    const more = (): void => {
      while (!socket.destroyed)
        if (!socket.write(`x-${"y".repeat(60_000)}: z\r\n`)) return void socket.once("drain", more);
    };
    more();
  });
  expect(await post(`http://127.0.0.1:${port}/`, { timeoutMs: 1000 })).toHaveProperty("error");
});

test("a reset and a refused connection are said", async () => {
  const port = await rawServer((socket) => socket.resetAndDestroy());
  expect(await post(`http://127.0.0.1:${port}/`)).toEqual({
    error: "the connection was closed before a response arrived",
  });
  const gone = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port: free } = gone;
  await gone.stop(true);
  expect(await post(`http://127.0.0.1:${free}/`)).toEqual({ error: "the connection was refused" });
});

test("the names of this machine are resolved, and unknown ones are not", async () => {
  expect(await post(`http://localhost:${web.port}/`)).toEqual({ status: 200, response: `host localhost:${web.port}` });
  expect(await post("http://unknown.invalid/")).toEqual({ error: "its host is unknown" });
});

/** Answers only for names that begin with `fast`, with 127.0.0.1; all others hang. */
async function nameServer(): Promise<{ readonly port: number; readonly asked: Set<string> }> {
  const asked = new Set<string>();
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const name = query.subarray(12, query.indexOf(0, 12)).toString("latin1");
    asked.add(name);
    if (!name.includes("fast")) return;
    const end = query.indexOf(0, 12) + 5;
    const isV4 = query.readUInt16BE(end - 4) === 1;
    const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, Number(isV4), 0, 0, 0, 0]);
    const answer = Buffer.from(isV4 ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...LOOPBACK] : []);
    socket.send(Buffer.concat([head, query.subarray(12, end), answer]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  stops.push(() => socket.close());
  return { port: socket.address().port, asked };
}

test("names whose servers hang keep no other name waiting", async () => {
  const { port, asked } = await nameServer();
  const before = getServers();
  setServers([`127.0.0.1:${port}`]);
  try {
    const hanging = Array.from({ length: 64 }, (_, at) => post(`http://slow${at}.test/`, { timeoutMs: 1500 }));
    await until("all are asked for", () => asked.size >= 64);
    expect(await post(`http://fast.test:${web.port}/`, { timeoutMs: 1000 })).toMatchObject({ status: 200 });
    for (const answer of await Promise.all(hanging)) expect(answer).toHaveProperty("error");
  } finally {
    setServers(before);
  }
});

test("the certificate is verified for the name, also behind a connection that another name has opened", async () => {
  const tls = join(import.meta.dir, "../../test/fixtures/tls");
  const certificate = join(tls, "one.crt");
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { key: Bun.file(join(tls, "one.key")), cert: Bun.file(certificate) },
    fetch: () => new Response("ok"),
  });
  stops.push(() => void server.stop(true));
  // The certificate is for localhost and 127.0.0.1.
  const names = ["localhost", "hooks.test", "localhost", "127.0.0.1", "hooks.test"];
  const child = Bun.spawn(
    [
      process.execPath,
      "--no-env-file",
      join(import.meta.dir, "../../test/support/webhooks/post-by-name.ts"),
      ...names.map((name) => `https://${name}:${server.port}/`),
    ],
    { stdout: "pipe", env: { NODE_EXTRA_CA_CERTS: certificate } },
  );
  const lines = (await within("its answers", new Response(child.stdout).text())).trim().split("\n");
  const ok = { status: 200, response: "ok" };
  const refused = { error: "its certificate is not for this host" };
  expect(lines.map((line) => JSON.parse(line))).toEqual([ok, refused, ok, ok, refused]);
  const strange = await post(`https://localhost:${server.port}/`, { resolve: async () => [LOOPBACK] });
  expect(strange).toEqual({ error: expect.stringContaining("certificate") });
});
