/**
 * What every proxy in front of Parley has to do: one suite for nginx and Caddy. Behind it are three "nodes": one that
 * answers everything with 503, as a draining node does; one that is unreachable; and a real one.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { REQUEST_HEAD_MAX_BYTES } from "../../../src/protocol/limits.ts";
import { freePort } from "../../../src/testing/ports.ts";
import { forge, nowSeconds } from "../../support/jwt.ts";
import { type Server, startParley } from "../../support/parley.ts";
import { until, within } from "../../support/wait.ts";
import { welcomed } from "../../support/wire/connect.ts";
import type { Wire } from "../../support/wire/wire.ts";

export interface RunningProxy {
  /** https://127.0.0.1:port */
  readonly url: string;
  /** Everything it has logged so far, access and errors. */
  logged(): string;
  stop(): Promise<void>;
}

/** Replaces the three addresses of the examples. With fewer nodes the last ones are removed, with what is around them. */
export const addressesOf = (
  nodes: readonly number[],
  around: (address: string) => string,
): [from: string, to: string][] =>
  [1, 2, 3].map((at) => {
    const [address, port] = [`10.0.0.1${at}:8080`, nodes[at - 1]];
    return port === undefined ? [around(address), ""] : [address, `127.0.0.1:${port}`];
  });

/** Whether something answers there. */
export const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`, { tls: { rejectUnauthorized: false } }).then(
    () => true,
    () => false,
  );

/** A text that must not be in any log. */
const SECRET = "hush-hush-hush";
/** A refused credential counts as ten connects. */
const REFUSALS_A_MINUTE = 1;
const CONNECTS_A_MINUTE = 10 * REFUSALS_A_MINUTE;

/** 256 bytes each, and three times as long in JSON that escapes everything beyond ASCII. */
const CHANNELS = Array.from({ length: 100 }, (_, i) => `${"é".repeat(126)}${String(i).padStart(4, "0")}`);

/** An object of at most that many bytes, with everything beyond ASCII escaped. */
const bagOf = (bytes: number): { a: string } => ({ a: "é".repeat((bytes - '{"a":""}'.length) / "\\u00e9".length) });

/** As some backends sign: everything within the limits, in ASCII only. */
function longestToken(secretKey: string): string {
  const [kid = "", secret = ""] = secretKey.split(":");
  const claims = {
    sub: "p".repeat(128),
    exp: nowSeconds() + 600,
    channels: CHANNELS,
    metadata: bagOf(8192),
    peerMetadata: bagOf(4096),
  };
  return forge({ alg: "HS256", kid, typ: "JWT" }, JSON.stringify(claims).replaceAll("é", "\\u00e9"), secret);
}

export function proxySuite(name: string, start: (nodes: readonly number[]) => Promise<RunningProxy>): void {
  describe(`${name} in front of Parley`, () => {
    let node: Server;
    let proxy: RunningProxy;
    const asked: string[] = [];
    const draining = createServer({ maxHeaderSize: REQUEST_HEAD_MAX_BYTES }, (asking, answer) => {
      asked.push(`${asking.method} ${asking.url?.split("?")[0]}`);
      asking.resume();
      answer.writeHead(503).end();
    });
    // An upgrade gets a response like any other request.
    draining.on("upgrade", (asking, socket) => {
      asked.push(`${asking.method} ${asking.url?.split("?")[0]}`);
      socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    });
    const stopDraining = (): void => {
      draining.close();
      draining.closeAllConnections();
    };

    beforeAll(async () => {
      node = await startParley({
        env: {
          PARLEY_TRUSTED_PROXIES: "127.0.0.1",
          PARLEY_CONNECTS_PER_MINUTE_PER_IP: String(CONNECTS_A_MINUTE),
        },
      });
      await new Promise<void>((resolve) => draining.listen(0, "127.0.0.1", resolve));
      const { port } = draining.address() as AddressInfo;
      proxy = await start([port, await freePort(), Number(new URL(node.url).port)]);
      await until("the proxy finds the node that is well", () => wellInARow(6));
    });
    // Also when the start stopped half way.
    afterAll(async () => {
      await proxy?.stop();
      stopDraining();
      await node?.stop();
    });

    const get = async (path: string, headers: Record<string, string> = {}): Promise<number> => {
      const response = await fetch(proxy.url + path, { headers, tls: { rejectUnauthorized: false } });
      await response.arrayBuffer();
      return response.status;
    };

    const wellInARow = async (times: number): Promise<boolean> => {
      for (let at = 0; at < times; at++) if ((await get("/healthz").catch(() => 0)) !== 200) return false;
      return true;
    };

    /** Resolves when the welcome has come. */
    const connect = (query: string): Promise<Wire> =>
      welcomed(proxy.url, query).catch((error: Error) => {
        throw new Error(`${error.message}; the log says\n${proxy.logged().slice(-1500)}`);
      });

    /** GET /v1 from another address of this machine. */
    const statusFrom = (localAddress: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const { port } = new URL(proxy.url);
        const call = request(
          { host: "127.0.0.1", port, path: "/v1", localAddress, rejectUnauthorized: false },
          (answer) => {
            answer.resume();
            answer.on("end", () => resolve(answer.statusCode ?? 0));
          },
        );
        call.on("error", reject);
        call.end();
      });

    test("the longest legal token connects, and messages pass in both directions", async () => {
      const token = longestToken(node.keys.secretKey);
      expect(token.length).toBeGreaterThan(115 * 1024);
      const wire = await connect(`token=${token}`);
      expect(wire.peerId).toBe("p".repeat(128));
      expect(await wire.request({ type: "subscribe", channel: CHANNELS[99] })).toMatchObject({ type: "ack" });
      wire.close();
      expect((await wire.closed()).code).toBe(1000);
      // The request has ended now, and is logged.
      await until("the line of that request", () => proxy.logged().includes('"/v1"'));
      expect(proxy.logged()).not.toContain("token=");
      for (let at = 0; at + 100 < token.length; at += 997)
        expect(proxy.logged()).not.toContain(token.slice(at, at + 100));
    });

    test("no connect fails because a node is draining or unreachable", async () => {
      const { publishableKey } = node.keys;
      for (let at = 0; at < 4; at++) (await connect(`key=${publishableKey}`)).close();
    });

    test("a request that may change something is never sent twice", async () => {
      for (let at = 0; at < 4; at++) {
        const before = asked.length;
        const response = await fetch(`${proxy.url}/v1/tokens`, {
          method: "POST",
          body: "{}",
          headers: { Authorization: `Bearer ${node.keys.secretKey}` },
          tls: { rejectUnauthorized: false },
        });
        const atDraining = asked.slice(before).filter((one) => one === "POST /v1/tokens").length;
        // Sent once to the node that responds 503, which is then the response; or to the real one, which finds no peerId in it.
        expect([atDraining, response.status]).toEqual(atDraining === 1 ? [1, 503] : [0, 400]);
      }
    });

    test("clients are distinguished by their own address", async () => {
      // A client here is not the proxy, 127.0.0.1, so its own address counts.
      for (let at = 0; at < REFUSALS_A_MINUTE; at++) expect(await statusFrom("127.0.0.2")).toBe(401);
      expect(await statusFrom("127.0.0.2")).toBe(429);
      expect(await statusFrom("127.0.0.3")).toBe(401);
    });

    test("a client behind it does not count as one on the node's own machine", async () => {
      // Neither does any other client while a proxy there is trusted: it could have come through the proxy.
      expect((await fetch(`${node.url}/metrics`)).status).toBe(401);
      expect(await get("/metrics")).toBe(401);
      const headers = { Authorization: `Bearer ${node.adminToken}` };
      expect((await fetch(`${node.url}/metrics`, { headers })).status).toBe(200);
    });

    test("the dashboard can be signed in to, and its tail shows an event while the stream is open", async () => {
      const tls = { rejectUnauthorized: false };
      // Some answers come from the node that is draining.
      const ask = async (path: string, init: RequestInit): Promise<Response> => {
        for (;;) {
          const response = await fetch(proxy.url + path, { ...init, tls });
          if (response.status !== 503) return response;
          await response.body?.cancel();
        }
      };
      const own = { "X-Parley-Dashboard": "1", Origin: proxy.url };
      const body = JSON.stringify({ token: node.adminToken });
      const signedIn = await ask("/dashboard/session", { method: "POST", headers: own, body });
      expect(signedIn.status).toBe(200);
      // TLS ends at the proxy, and the node knows it.
      const cookie = signedIn.headers.get("set-cookie") ?? "";
      expect(cookie).toMatch(/^__Host-parley=.*; Secure/);

      const closed = new AbortController();
      const tail = await ask("/api/internal/v1/tail?kind=connect", {
        headers: { Cookie: cookie.split(";")[0] ?? "", "Sec-Fetch-Site": "same-origin" },
        signal: closed.signal,
      });
      expect(tail.headers.get("content-type")).toBe("text/event-stream");
      const shown = (async () => {
        let text = "";
        for await (const bytes of tail.body ?? []) {
          text += new TextDecoder().decode(bytes);
          if (text.includes('"kind":"connect"')) return text;
        }
        return text;
      })();
      using _connected = await connect(`key=${node.keys.publishableKey}`);
      expect(await within("the event of the connect", shown)).toContain('"kind":"connect"');
      closed.abort();
    });

    test("an upload reaches the node while it is still being sent", async () => {
      const { port } = new URL(proxy.url);
      const status = await new Promise<number>((resolve, reject) => {
        // Longer than a REST body may be: the node refuses it at once, without waiting for the end, which never comes.
        const headers = { "Content-Length": String(2 * 1024 ** 3), Authorization: `Bearer ${node.keys.secretKey}` };
        const options = {
          host: "127.0.0.1",
          port,
          path: "/v1/tokens",
          method: "POST",
          headers,
          rejectUnauthorized: false,
        };
        const call = request(options, (answer) => {
          resolve(answer.statusCode ?? 0);
          call.destroy();
        });
        // A node that has refused it may close the connection after its response; before, there is no response to wait for.
        call.on("error", reject);
        // Piece by piece, and far from its end when the response comes. (Caddy passes a response on at the next piece.)
        const more = setInterval(() => call.write("{".repeat(65_536)), 20);
        call.on("close", () => clearInterval(more));
      });
      expect([413, 503]).toContain(status);
    });

    test("no query and no Referer is logged, even when no node is reachable", async () => {
      const headers = { Referer: `https://elsewhere.example/?token=${SECRET}` };
      expect(await get(`/healthz?secretKey=${SECRET}`, headers)).toBe(200);
      await node.kill("SIGTERM");
      stopDraining();
      expect(await get(`/v1?token=${SECRET}&key=${SECRET}`, headers)).toBeOneOf([502, 503, 504]);
      await until("the line of the failure", () => /\b50[234]\b/.test(proxy.logged()));
      expect(proxy.logged()).toContain("/healthz");
      expect(proxy.logged()).not.toContain(SECRET);
      expect(proxy.logged()).not.toContain(node.keys.secretKey.split(":")[1] ?? "");
      expect(proxy.logged()).not.toMatch(/token=|secretKey=|key=/);
    });
  });
}
