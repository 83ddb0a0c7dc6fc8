/** protocol.md 1.2: a connection without WebSocket. That its frames do the same as on one is shown by over-http.test.ts. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect as connectTcp } from "node:net";
import { type Answer, call } from "../../support/http.ts";
import { until } from "../../support/wait.ts";
import { connectOverHttp, type OverHttp } from "../../support/wire/over-http.ts";
import { type Claims, fresh, QUIET, tokenQuery, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();
const EVENTS = `${world.url}/v1/events`;

const opened = (claims: Claims = {}, headers: Readonly<Record<string, string>> = {}): Promise<OverHttp> =>
  connectOverHttp(world.url, { query: tokenQuery(world.token(claims)), headers });

interface Post {
  readonly n?: number | string;
  readonly bye?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

const post = (
  session: string,
  body: unknown,
  { n = 1, bye = false, headers = {} }: Post = {},
): Promise<Answer<{ error?: string; expected?: number }>> =>
  call(`${EVENTS}?session=${session}&n=${n}${bye ? "&bye=1" : ""}`, {
    method: "POST",
    body,
    headers: { "Content-Type": "text/plain", ...headers },
  });

const publish = (channel: string, data: unknown, requestId = "p"): string =>
  JSON.stringify({ type: "publish", channel, data, requestId });
const unsubscribe = (requestId: string): string =>
  JSON.stringify({ type: "unsubscribe", channel: "never held", requestId });

describe("a GET", () => {
  test("is answered with the welcome as its first event, and with the headers of a stream", async () => {
    const { wire, session } = await opened({ sub: "ann" });
    expect(wire.frames).toMatchObject([{ type: "welcome", peerId: "ann", session }]);
    expect(session).toMatch(/^es_[\w.-]+$/);
    expect((wire.frames[0] as unknown as { features: string[] }).features).toContain("events");
    expect(Object.fromEntries(wire.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "access-control-allow-origin": "*",
    });
    wire.drop();
  });

  test("is refused as a connect is, and a page may read why", async () => {
    for (const [query, status, error] of [
      ["", 401, "unauthorized"],
      ["key=pk_live_unknown", 401, "unauthorized"],
      ["token=nonsense", 401, "invalid_token"],
      [tokenQuery(world.token({ exp: 1_600_000_000, iat: 1_599_999_000 })), 401, "token_expired"],
    ] as const) {
      const answer = await call(`${EVENTS}?${query}`);
      expect([query, answer.status, answer.body.error]).toEqual([query, status, error]);
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    }
  });

  test("beyond the cap is answered with 4010 and its end", async () => {
    await world.admin.must("PATCH", `/apps/${world.app._id}`, { plan: { maxConcurrentConnections: 1 } });
    const first = await opened();
    const second = await connectOverHttp(world.url, { query: tokenQuery(world.token()) });
    expect(await second.wire.closed()).toMatchObject({ code: 4010 });
    await second.wire.gone();
    expect(second.session).toBe("");
    await world.admin.must("PATCH", `/apps/${world.app._id}`, { plan: { maxConcurrentConnections: null } });
    first.wire.drop();
  });

  test("counts as a connection until its client is gone", async () => {
    const metric = async (): Promise<number> => {
      return Number(
        /^parley_http_connections (\d+)$/m.exec(
          (await call(`${world.url}/metrics`, { bearer: world.admin.token })).text,
        )?.[1],
      );
    };
    const before = await metric();
    const { wire, session } = await opened();
    expect(await metric()).toBe(before + 1);
    wire.drop();
    await until("it is not counted any more", async () => (await metric()) === before);
    expect((await post(session, unsubscribe("a"))).status).toBe(404);
  });

  test("of another method is 405, and a WebSocket is not opened here", async () => {
    for (const method of ["HEAD", "PUT", "DELETE", "PATCH"]) {
      const answer = await call(`${EVENTS}?${tokenQuery(world.token())}`, { method });
      expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "GET, POST, OPTIONS"]);
    }
    const upgrade = { Upgrade: "websocket", Connection: "Upgrade", "Sec-WebSocket-Version": "13" };
    expect((await call(`${EVENTS}?${tokenQuery(world.token())}`, { headers: upgrade })).status).toBe(404);
  });
});

describe("a POST", () => {
  test("brings frames in order; their answers are events", async () => {
    const channel = fresh("room");
    const { wire, session } = await opened();
    const { wire: other } = await world.member(channel);
    const frames = [1, 2, 3].map((n) => publish(channel, { n }, `p${n}`));
    const answer = await post(session, [...frames, '{"type":"ping","requestId":"x"}', ""].join("\n"));
    expect([answer.status, answer.text]).toEqual([204, ""]);
    for (const n of [1, 2, 3]) expect(await other.until("message")).toMatchObject({ data: { n } });
    for (const n of [1, 2, 3]) await wire.answerTo(`p${n}`);
    expect(await wire.until("pong")).toMatchObject({ requestId: "x" });
    wire.drop();
  });

  test("repeated with the same number is 204 and does nothing; a number too high is 409 with the expected one", async () => {
    const channel = fresh("room");
    const { wire, session } = await opened();
    const { wire: other } = await world.subscriber(channel);
    for (let sent = 0; sent < 3; sent++)
      expect((await post(session, publish(channel, "once"), { n: 1 })).status).toBe(204);
    const gap = await post(session, publish(channel, "never"), { n: 3 });
    expect([gap.status, gap.body.error, gap.body.expected]).toEqual([409, "conflict", 2]);
    expect((await post(session, publish(channel, "twice"), { n: 2 })).status).toBe(204);
    expect(await other.frame("message")).toMatchObject({ data: "once" });
    expect(await other.frame("message")).toMatchObject({ data: "twice" });
    expect(await other.sync()).toEqual([]);
    wire.drop();
  });

  test("sent several times at once is taken once", async () => {
    const channel = fresh("room");
    const { wire, session } = await opened();
    const { wire: other } = await world.subscriber(channel);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(session, publish(channel, "one"), { n: 1 })),
    );
    expect(answers.filter(({ status }) => status !== 204 && status !== 503)).toEqual([]);
    expect(await other.frame("message")).toMatchObject({ data: "one" });
    expect(await other.sync()).toEqual([]);
    wire.drop();
  });

  const line = unsubscribe("a");
  for (const [what, body, status] of [
    ["65 frames", Array(65).fill(line).join("\n"), 400],
    ["an empty line", `${line}\n\n${line}`, 400],
    ["nothing", "", 400],
    ["a frame that is too long", `${line}\n"${"x".repeat(67_600)}"`, 413],
    ["over 256 KiB", `${line}\n`.repeat(10) + "x".repeat(262_144), 413],
    ["bytes that are not UTF-8", new Uint8Array([...Buffer.from(line), 0x0a, 0xff]), 400],
  ] as const)
    test(`with ${what} is refused whole, and its number stays the next one`, async () => {
      const { wire, session } = await opened();
      const answer = await post(session, body);
      expect(answer.status).toBe(status);
      expect((await post(session, unsubscribe("b"))).status).toBe(204);
      await wire.answerTo("b");
      expect(wire.texts.some((text) => text.includes('"requestId":"a"'))).toBe(false);
      wire.drop();
    });

  test("over 256 KiB without a length is refused while it arrives", async () => {
    const { wire, session } = await opened();
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (sent > 8_000_000) return controller.close();
        sent += 65_536;
        controller.enqueue(Buffer.alloc(65_536, "x"));
      },
    });
    expect((await post(session, endless)).status).toBe(413);
    expect(sent).toBeLessThan(8_000_000);
    wire.drop();
  });

  test("of 64 frames and of 256 KiB is taken", async () => {
    const { wire, session } = await opened();
    const frames = Array.from({ length: 64 }, (_, at) => unsubscribe(`q${at}`));
    expect((await post(session, frames.join("\r\n"))).status).toBe(204);
    await wire.answerTo("q63");
    const data = "x".repeat(65_000);
    const large = Array.from({ length: 4 }, (_, at) => publish(fresh("c"), data, `l${at}`)).join("\n");
    expect((await post(session, large, { n: 2 })).status).toBe(204);
    await wire.answerTo("l3");
    wire.drop();
  });

  test("needs a number from 1", async () => {
    const { wire, session } = await opened();
    for (const n of ["", "0", "-1", "01", "1.5", "x", "9".repeat(30)])
      expect([n, (await post(session, line, { n })).status]).toEqual([n, 400]);
    wire.drop();
  });

  test("that faces the rate of frames ends the connection with 4011, as on a WebSocket", async () => {
    const { wire, session } = await opened();
    const frames = Array(64).fill(line).join("\n");
    let status = 204;
    for (let n = 1; status === 204 && n < 40; n++) status = (await post(session, frames, { n })).status;
    expect(status).toBe(404);
    expect(await wire.closed()).toMatchObject({ code: 4011 });
    await wire.gone();
  });

  test("repeated very often ends it too", async () => {
    const { wire, session } = await opened();
    await post(session, line);
    let status = 204;
    for (let sent = 0; status === 204 && sent < 3000; sent++) status = (await post(session, line)).status;
    expect(status).toBe(404);
    expect(await wire.closed()).toMatchObject({ code: 4011 });
  });
});

describe("its end", () => {
  test("by bye=1 is a goodbye behind its last frames", async () => {
    const channel = fresh("room");
    const { wire: other } = await world.member(channel);
    const { wire, session, peerId } = await opened();
    await wire.join(channel);
    await other.until("presence", ({ joined }) => joined.length > 0);
    // The first one has subscribed.
    expect((await post(session, publish(channel, "last"), { n: 2, bye: true })).status).toBe(204);
    expect(await other.until("message")).toMatchObject({ data: "last" });
    expect(await other.until("presence")).toMatchObject({ left: [{ peerId }] });
    expect(await wire.closed()).toMatchObject({ code: 1000, reason: "" });
    await wire.gone();
    expect((await post(session, "", { n: 9, bye: true })).status).toBe(404);
  });

  test("by a kick is an event with its code, and then the end of the response", async () => {
    const { wire, session, peerId } = await opened();
    await world.rest("DELETE", `/v1/peers/${peerId}`);
    const { code, reason } = await wire.closed();
    expect(code).toBeGreaterThanOrEqual(4000);
    expect(reason).not.toBe("");
    await wire.gone();
    expect((await post(session, unsubscribe("a"))).status).toBe(404);
  });

  test("without a goodbye is seen by the others", async () => {
    const channel = fresh("room");
    const { wire: other } = await world.member(channel);
    const { wire, peerId } = await opened();
    await wire.join(channel);
    await other.until("presence", ({ joined }) => joined.length > 0);
    wire.drop();
    expect(await other.until("presence")).toMatchObject({ left: [{ peerId }] });
  });

  test("of a client that never reads leaves nothing", async () => {
    const { wire: sender } = await world.guest(QUIET);
    const sub = fresh("deaf");
    const socket = connectTcp(Number(new URL(world.url).port), new URL(world.url).hostname);
    socket.pause();
    socket.write(`GET /v1/events?${tokenQuery(world.token({ sub }))} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const send = (n: number) =>
      sender.request({ type: "send", to: sub, data: { n, text: "x".repeat(60_000) } }) as Promise<{
        type: string;
        code?: string;
      }>;
    await until("it is connected", async () => (await send(0)).type === "ack");
    let answer = await send(1);
    for (let n = 2; answer.type === "ack" && n < 2000; n++) answer = await send(n);
    expect(answer).toMatchObject({ code: "peer_not_found" });
    socket.destroy();
  });
});

describe("pages of other origins", () => {
  const HOME = "https://home.example";
  const EVIL = "https://evil.example";
  const keyed = async (): Promise<string> =>
    `key=${(await world.admin.createPublishable(world.app._id, { allowedOrigins: [HOME] })).keyId}`;

  test("may connect with a token, and with a key that lists them", async () => {
    const query = await keyed();
    expect((await call(`${EVENTS}?${query}`, { headers: { Origin: EVIL } })).body.error).toBe("origin_not_allowed");
    for (const [one, origin] of [
      [query, HOME],
      [tokenQuery(world.token()), EVIL],
    ] as const) {
      const { wire, session } = await connectOverHttp(world.url, { query: one, headers: { Origin: origin } });
      const answer = await post(session, unsubscribe("a"), { headers: { Origin: origin } });
      expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
      wire.drop();
    }
  });

  test("cannot send frames for a connection of another one", async () => {
    const { wire, session } = await opened({}, { Origin: HOME });
    for (const headers of [
      { Origin: EVIL },
      { Origin: "null" },
      {},
      { Origin: EVIL, "Sec-Fetch-Site": "same-origin" },
    ]) {
      const answer = await post(session, unsubscribe("evil"), { headers });
      expect([headers, answer.status, answer.body.error]).toEqual([headers, 401, "origin_not_allowed"]);
    }
    expect((await post(session, unsubscribe("a"), { headers: { Origin: HOME } })).status).toBe(204);
    await wire.answerTo("a");
    expect(wire.texts.join()).not.toContain("evil");
    wire.drop();
  });

  test("a page of the service itself sends no Origin with the GET, and one with the POST", async () => {
    const { wire, session } = await opened();
    const refused = { Origin: EVIL, "Sec-Fetch-Site": "cross-site" };
    expect((await post(session, unsubscribe("a"), { headers: refused })).status).toBe(401);
    expect((await post(session, unsubscribe("a"), { headers: { Origin: EVIL } })).status).toBe(401);
    const same = { Origin: "https://behind.a.proxy", "Sec-Fetch-Site": "same-origin" };
    expect((await post(session, unsubscribe("a"), { n: 1, headers: same })).status).toBe(204);
    expect((await post(session, unsubscribe("b"), { n: 2, headers: { Origin: world.url } })).status).toBe(204);
    wire.drop();
  });

  test("get an answer to what browsers ask before", async () => {
    const headers = { Origin: EVIL, "Access-Control-Request-Method": "POST" };
    const answer = await call(EVENTS, { method: "OPTIONS", headers });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
    expect(answer.headers.get("access-control-allow-methods")).toContain("POST");
  });
});
