/** Who may do what with streams over HTTP, from which pages, and what is refused first. */
import { expect, test } from "bun:test";
import { fresh, worldForTests } from "../raw/support/world.ts";
import { errorOf, keyQuery, refusalOf, StreamClient, withStreams } from "./support.ts";

const world = await worldForTests();
await withStreams(world);
const client = new StreamClient(world);
const JSON_TYPE = { "Content-Type": "application/json" };
const PAGE = "https://page.example";

test("a stream has exactly one credential", async () => {
  const channel = await client.create();
  const open = await world.admin.createPublishable(world.app._id);
  const token = world.token();
  const read = (credential: string, query = "") => client.call("GET", channel, { credential, query }).then(refusalOf);
  expect(await read("")).toBe("401 unauthorized");
  expect(await read(world.key.credential)).toBe("200");
  expect(await read(token)).toBe("200");
  expect(await read("", `token=${token}`)).toBe("200");
  expect(await read("", keyQuery(open))).toBe("200");
  expect(await read(token, keyQuery(open))).toBe("401 unauthorized");
  expect(await read(token, `token=${token}`)).toBe("401 unauthorized");
  expect(await read("", `token=${token}&token=${token}`)).toBe("401 unauthorized");
  expect(await read("", `token=${token}&${keyQuery(open)}`)).toBe("401 unauthorized");
  expect(await read("garbage")).toBe("401 invalid_token");
  expect(await read("a:b")).toBe("401 unauthorized");
  expect(await read("", "key=pk_live_none")).toBe("401 unauthorized");
  expect(await read("", "token=")).toBe("401 invalid_token");
  expect(await read("", Array.from({ length: 200 }, (_, at) => `a${at}=1`).join("&"))).toBe("401 unauthorized");
});

test("only a secret key creates, closes and deletes; reading and writing need the action and the channel", async () => {
  const channel = await client.create();
  const open = await world.admin.createPublishable(world.app._id);
  const reader = await world.admin.createKey(world.app._id, { actions: ["subscribe"] });
  const elsewhere = await world.admin.createKey(world.app._id, { channelPatterns: ["elsewhere/**"] });
  const credentials = {
    token: [world.token(), ""],
    key: ["", keyQuery(open)],
    reader: [reader.credential, ""],
    elsewhere: [elsewhere.credential, ""],
    readerToken: [world.token({ permissions: ["subscribe"] }), ""],
    otherToken: [world.token({ channels: ["other"] }), ""],
  } as const;
  const calls: Record<string, [string, Record<string, string>, string?]> = {
    get: ["GET", {}],
    post: ["POST", JSON_TYPE, "1"],
    close: ["POST", { "Stream-Closed": "true" }],
    put: ["PUT", JSON_TYPE],
    delete: ["DELETE", {}],
  };
  const table: Record<string, string[]> = {};
  for (const [name, [credential, query]] of Object.entries(credentials)) {
    const row: string[] = [];
    for (const [method, headers, body] of Object.values(calls))
      row.push(
        await refusalOf(await client.call(method, channel, { credential, query, headers, ...(body && { body }) })),
      );
    table[name] = row;
  }
  const forbidden = "403 action_not_permitted";
  const notHere = Array(5).fill("403 channel_not_authorized");
  expect(table).toEqual({
    token: ["200", "204", forbidden, forbidden, forbidden],
    key: ["200", "204", forbidden, forbidden, forbidden],
    reader: ["200", forbidden, forbidden, forbidden, forbidden],
    elsewhere: notHere,
    readerToken: ["200", forbidden, forbidden, forbidden, forbidden],
    otherToken: notHere,
  });
  const byPage = (await client.read(channel, "as=messages")) as { from: string }[];
  expect(byPage.map(({ from }) => from)).toEqual([
    expect.stringMatching(/^peer-/),
    expect.stringMatching(/^[0-9a-f-]{36}$/),
  ]);
});

test("a fork needs its source to be readable", async () => {
  const source = await client.create();
  const key = await world.admin.createKey(world.app._id, { channelPatterns: ["mine/**"] });
  const fork = (from: string) =>
    client.call("PUT", `mine/${fresh("fork")}`, {
      credential: key.credential,
      headers: { "Stream-Forked-From": from },
    });
  expect(await refusalOf(await fork(`/v1/stream/${source}`))).toBe("403 channel_not_authorized");
  expect(await refusalOf(await fork("/v1/stream/mine/none"))).toBe("404 stream_not_found");
  expect(await refusalOf(await fork("https://elsewhere.example/v1/stream/mine/none"))).toBe("400 invalid_request");
});

test("pages: tokens from any origin, keys from theirs, secret keys from none", async () => {
  const channel = await client.create();
  const key = await world.admin.createPublishable(world.app._id, { allowedOrigins: [PAGE] });
  const open = await world.admin.createPublishable(world.app._id);
  const headers = { Origin: PAGE };
  const allowed = async (credential: string, query: string, origin = PAGE): Promise<string> => {
    const response = await client.call("GET", channel, { credential, query, headers: { Origin: origin } });
    return `${response.status} ${response.headers.get("access-control-allow-origin")}`;
  };
  expect(await allowed(world.token(), "")).toBe("200 *");
  expect(await allowed("", keyQuery(key))).toBe(`200 ${PAGE}`);
  expect(await allowed("", keyQuery(open))).toBe("200 *");
  expect(await allowed("", keyQuery(key), "https://other.example")).toBe("401 *");
  expect(await allowed(world.key.credential, "")).toBe("200 null");
  const preflight = await client.call("OPTIONS", channel, { credential: "", headers });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-headers")).toContain("If-None-Match");
  const response = await client.call("GET", channel, { credential: world.token(), headers });
  expect(response.headers.get("access-control-expose-headers")).toContain("Stream-Next-Offset");
});

test("only a key for every page lets proxies keep what is read", async () => {
  const channel = await client.create();
  const offset = await client.append(channel, "1");
  const open = await world.admin.createPublishable(world.app._id);
  const own = await world.admin.createPublishable(world.app._id, { allowedOrigins: [PAGE] });
  const cached = async (credential: string, query: string, method = "GET") =>
    (await client.call(method, channel, { credential, query })).headers.get("cache-control");
  expect(await cached("", keyQuery(open))).toBe("public, max-age=60, stale-while-revalidate=300");
  expect(await cached("", keyQuery(own))).toBe("private, no-cache");
  expect(await cached(world.token(), "")).toBe("private, no-cache");
  expect(await cached("", `${keyQuery(open)}&offset=now`)).toBe("no-store");
  expect(await cached("", keyQuery(open), "HEAD")).toBe("no-store");
  expect(await cached("", `${keyQuery(open)}&offset=${offset.replace(/\d/, "9")}`)).toBe("no-store");
});

test("names keep their slashes and dots, and the protocol's own are not given away", async () => {
  const name = fresh("a");
  const encoded = `${name}%2Fb%2F..%2Fc`;
  const made = await client.call("PUT", encoded, { headers: JSON_TYPE });
  expect([made.status, made.headers.get("location")]).toEqual([201, `${world.url}/v1/stream/${encoded}`]);
  expect((await client.call("GET", encoded)).status).toBe(200);
  expect((await client.call("GET", `${name}/c`)).status).toBe(404);
  const raw = `${name}/x/y`;
  expect((await client.call("PUT", raw, { headers: JSON_TYPE })).headers.get("location")).toBe(
    `${world.url}/v1/stream/${raw}`,
  );
  expect((await client.call("GET", `${name}%2Fx%2Fy`)).status).toBe(200);
  for (const reserved of ["__ds", "__ds/subscriptions/a", "__ds%2Fjwks.json"])
    expect(await refusalOf(await client.call("PUT", reserved, { headers: JSON_TYPE }))).toBe("404 not_found");
  expect(await refusalOf(await client.call("GET", "_parley/x"))).toBe("400 channel_reserved");
  expect(await refusalOf(await client.call("GET", "%zz"))).toBe("400 invalid_request");
  expect(await refusalOf(await client.call("GET", `${"a/".repeat(3000)}b`))).toBe("404 not_found");
  expect(await refusalOf(await client.call("GET", "plain/none"))).toBe("404 stream_not_found");
  expect(await refusalOf(await client.call("PATCH", name))).toBe("405 method_not_allowed");
});

test("refusals come in their order", async () => {
  const large = new Uint8Array(1024 * 1024 + 1);
  const post = (
    channel: string,
    headers: Record<string, string>,
    body?: string | Uint8Array<ArrayBuffer>,
    credential?: string,
  ) =>
    client
      .call("POST", channel, {
        headers,
        ...(body !== undefined && { body }),
        ...(credential !== undefined && { credential }),
      })
      .then(refusalOf);
  const missing = fresh("missing");
  expect(await post(missing, JSON_TYPE, large, "")).toBe("401 unauthorized");
  expect(await post(missing, JSON_TYPE, large)).toBe("413 invalid_request");
  expect(await post(missing, JSON_TYPE, "{")).toBe("404 stream_not_found");
  expect(await post(missing, JSON_TYPE)).toBe("404 stream_not_found");
  const gone = await client.create();
  const fork = fresh("fork");
  await client.call("PUT", fork, { headers: { "Stream-Forked-From": `/v1/stream/${gone}` } });
  expect((await client.call("DELETE", gone)).status).toBe(204);
  expect(await post(gone, JSON_TYPE)).toBe("410 stream_gone");
  const channel = await client.create();
  expect(await post(channel, JSON_TYPE)).toBe("400 invalid_request");
  const producer = (epoch: number, seq: number) => ({
    "Producer-Id": "p",
    "Producer-Epoch": String(epoch),
    "Producer-Seq": String(seq),
  });
  expect(await post(channel, { ...JSON_TYPE, ...producer(1, 0) }, "1")).toBe("200");
  const closing = { ...JSON_TYPE, ...producer(1, 1), "Stream-Closed": "true" };
  expect(await post(channel, closing, "2")).toBe("200");
  expect(await post(channel, { "Content-Type": "text/plain", ...producer(0, 0) }, "{")).toBe("403 stale_producer");
  expect(await post(channel, { "Content-Type": "text/plain", ...producer(1, 9) }, "{")).toBe("409 stream_closed");
  expect(await post(channel, closing, "2")).toBe("204");
  const other = await client.create();
  expect(await post(other, { "Content-Type": "text/plain", ...producer(1, 9) }, "{")).toBe("409 content_type_mismatch");
  expect(await post(other, { ...JSON_TYPE, ...producer(1, 9) }, "{")).toBe("400 invalid_request");
  expect(await post(other, { ...JSON_TYPE, ...producer(1, 9) }, "1")).toBe("409 producer_gap");
});

test("headers that ask for nothing possible are refused, and long ones too", async () => {
  const channel = await client.create();
  const post = (headers: Record<string, string>) =>
    client.call("POST", channel, { headers: { ...JSON_TYPE, ...headers }, body: "1" }).then(refusalOf);
  const put = (headers: Record<string, string>) => client.call("PUT", fresh("new"), { headers }).then(refusalOf);
  const whole = { "Producer-Id": "p", "Producer-Epoch": "0", "Producer-Seq": "0" };
  expect(await post({ ...whole, "Producer-Id": "p".repeat(129) })).toBe("400 invalid_request");
  expect(await post({ ...whole, "Producer-Epoch": "9".repeat(17) })).toBe("400 invalid_request");
  expect(await post({ ...whole, "Producer-Seq": "01" })).toBe("400 invalid_request");
  expect(await post({ "Producer-Id": "p" })).toBe("400 invalid_request");
  expect(await post({ "Stream-Seq": "s".repeat(257) })).toBe("400 invalid_request");
  for (const headers of [
    { "Stream-TTL": "1e3" },
    { "Stream-TTL": "9".repeat(15) },
    { "Stream-Expires-At": "tomorrow" },
    { "Stream-TTL": "1", "Stream-Expires-At": "2099-01-01T00:00:00Z" },
    { "Content-Type": "nonsense" },
    { "Content-Type": `text/${"x".repeat(200)}` },
    { "Stream-Fork-Offset": "-1" },
    { "Stream-Forked-From": "/v1/stream/", "Content-Type": "text/plain" },
  ] as Record<string, string>[])
    expect(await put(headers), JSON.stringify(headers)).toBe("400 invalid_request");
  for (const query of [
    "offset=",
    "offset=0",
    "offset=-1&offset=-1",
    "offset=a,b",
    "live=sse",
    "offset=-1&live=x",
    "as=x",
  ])
    expect(await refusalOf(await client.call("GET", channel, { query })), query).toBe("400 invalid_request");
});

test("what a stream holds is no page of this service", async () => {
  const channel = await client.create("text/html");
  await client.append(channel, "<script>alert(1)</script>", "text/html");
  const { headers } = await client.call("GET", channel);
  expect(headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
});

test("a peer has a rate of its own, as keys have", async () => {
  const limited = await worldForTests({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "5" } });
  await withStreams(limited);
  const own = new StreamClient(limited);
  const token = limited.token();
  const statuses = await Promise.all(Array.from({ length: 12 }, () => own.call("GET", "none", { credential: token })));
  expect(statuses.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(5);
  const refused = statuses.find(({ status }) => status === 429);
  expect(refused && (await errorOf(refused))).toBe("rate_limited");
  expect(refused?.headers.get("retry-after")).toBeTruthy();
  expect((await own.call("GET", "none", { credential: limited.token() })).status).toBe(404);
});
