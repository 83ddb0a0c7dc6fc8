/** Streams over HTTP and channels over WebSocket are the same: what is written to one is read from the other. */
import { expect, test } from "bun:test";
import type { Frame } from "../../support/wire/shapes.ts";
import { acked } from "../raw/support/history.ts";
import { fresh, worldForTests } from "../raw/support/world.ts";
import { EventClient, refusalOf, StreamClient, withStreams } from "./support.ts";

const world = await worldForTests();
await withStreams(world);
const client = new StreamClient(world);
const BYTES = new Uint8Array([0, 255, 1, 254]);

test("subscribers get what is POSTed: values, text, and bytes in base64", async () => {
  const [json, text, binary] = await Promise.all([
    client.create(),
    client.create("text/plain"),
    client.create("application/octet-stream"),
  ]);
  const { wire } = await world.guest({ permissions: ["subscribe"] });
  for (const channel of [json, text, binary]) await acked(wire, { type: "subscribe", channel });
  await client.append(json, '[{"n":1},[2],"three"]');
  await client.append(text, "héllo", "text/plain");
  await client.append(text, BYTES, "text/plain");
  await client.append(binary, BYTES, "application/octet-stream");
  const frames: (Frame<"message"> & { readonly encoding?: string })[] = [];
  for (let i = 0; i < 6; i++) frames.push(await wire.until("message"));
  const of = (name: string) =>
    frames.filter(({ channel }) => channel === name).map(({ data, from, encoding }) => [data, from, encoding]);
  expect(of(json)).toEqual([{ n: 1 }, [2], "three"].map((data) => [data, "server", undefined]));
  const base64 = Buffer.from(BYTES).toString("base64");
  expect(of(text)).toEqual([
    ["héllo", "server", undefined],
    [base64, "server", "base64"],
  ]);
  expect(of(binary)).toEqual([[base64, "server", "base64"]]);
  expect(new Uint8Array(await (await client.call("GET", binary)).arrayBuffer())).toEqual(BYTES);
  const entries = (await client.read(text, "as=messages")) as {
    data: string;
    encoding?: string;
    pos: string;
    time: number;
  }[];
  expect(entries.map(({ data, encoding }) => [data, encoding])).toEqual([
    ["héllo", undefined],
    [base64, "base64"],
  ]);
});

test("HTTP readers get what is published over WebSocket, with who has sent it", async () => {
  const channel = await client.create();
  const { wire, peerId } = await world.guest({ permissions: ["publish"], peerMetadata: { name: "Ann" } });
  const events = new EventClient(await client.call("GET", channel, { query: "offset=-1&live=sse&as=messages" }));
  expect(JSON.parse(await events.until("control"))).toMatchObject({ upToDate: true });
  const { pos } = await acked(wire, { type: "publish", channel, data: { hello: 1 }, id: "m1" });
  const [entry] = JSON.parse(await events.until("data"));
  expect(entry).toEqual({
    from: peerId,
    fromMetadata: { name: "Ann" },
    data: { hello: 1 },
    pos: pos as string,
    time: expect.any(Number),
    id: "m1",
  });
  const { streamNextOffset } = JSON.parse(await events.until("control"));
  await events.close();
  expect(await client.read(channel)).toEqual([{ hello: 1 }]);
  // Either form of a place works for both.
  await client.append(channel, "2");
  expect(await client.read(channel, `offset=${pos}`)).toEqual([2]);
  expect(await client.read(channel, `offset=${streamNextOffset}`)).toEqual([2]);
  const { wire: back } = await world.guest({ permissions: ["subscribe"] });
  await acked(back, { type: "subscribe", channel, recover: streamNextOffset });
  expect((await back.until("message")).data).toBe(2);
});

test("a read without an offset has all that one write has brought, and others continue", async () => {
  const channel = await client.create("application/octet-stream");
  const bytes = crypto.getRandomValues(new Uint8Array(65_536));
  const whole = new Uint8Array(1024 * 1024);
  for (let at = 0; at < whole.length; at += bytes.length) whole.set(bytes, at);
  await client.append(channel, whole, "application/octet-stream");
  const read = await client.call("GET", channel);
  expect(read.headers.get("stream-up-to-date")).toBe("true");
  expect(Bun.hash(await read.arrayBuffer())).toBe(Bun.hash(whole));
  const first = await client.call("GET", channel, { query: "offset=-1" });
  expect((await first.arrayBuffer()).byteLength).toBeLessThanOrEqual(256 * 1024);
  expect(first.headers.get("stream-up-to-date")).toBeNull();
});

test("POST stores who has written, with the metadata of its token", async () => {
  const channel = await client.create();
  const token = world.token({ sub: "writer", peerMetadata: { name: "Ben" } });
  const body = "1";
  await client.call("POST", channel, { credential: token, body, headers: { "Content-Type": "application/json" } });
  expect(await client.read(channel, "as=messages")).toEqual([
    { from: "writer", fromMetadata: { name: "Ben" }, data: 1, pos: expect.any(String), time: expect.any(Number) },
  ]);
});

test("a channel with history is always there, and is read and written as a stream of JSON", async () => {
  const channel = `kept/${fresh("room")}`;
  const json = { "Content-Type": "application/json" };
  expect(await client.read(channel)).toEqual([]);
  expect((await client.call("PUT", channel, { headers: json })).status).toBe(200);
  for (const headers of [
    { "Content-Type": "text/plain" },
    { ...json, "Stream-TTL": "9" },
    { ...json, "Stream-Closed": "true" },
  ])
    expect(await refusalOf(await client.call("PUT", channel, { headers }))).toBe("409 conflict");
  expect(await refusalOf(await client.call("POST", channel, { headers: { "Stream-Closed": "true" } }))).toBe(
    "409 conflict",
  );
  const { wire } = await world.guest({ permissions: ["subscribe", "publish"] });
  await acked(wire, { type: "subscribe", channel });
  const offset = await client.append(channel, "[1,2]");
  expect([(await wire.until("message")).data, (await wire.until("message")).data]).toEqual([1, 2]);
  await acked(wire, { type: "publish", channel, data: 3 });
  expect(await client.read(channel, `offset=${offset}`)).toEqual([3]);
  await client.append(channel, JSON.stringify(Array.from({ length: 60 }, (_, n) => n)));
  const all = await client.call("GET", channel);
  expect([all.headers.get("parley-trimmed"), ((await all.json()) as unknown[]).length]).toEqual(["true", 50]);
  expect(await refusalOf(await client.call("GET", channel, { query: `offset=${offset}` }))).toBe("410 offset_gone");
  const end = all.headers.get("stream-next-offset");
  expect((await client.call("DELETE", channel)).status).toBe(204);
  expect(await refusalOf(await client.call("GET", channel, { query: `offset=${end}` }))).toBe("410 offset_gone");
  expect(await client.read(channel)).toEqual([]);
});

test("offsets of a source are offsets of its fork, up to where it begins", async () => {
  const source = await client.create();
  const first = await client.append(source, "1");
  const second = await client.append(source, "2");
  const fork = fresh("fork");
  const headers = { "Stream-Forked-From": `/v1/stream/${source}`, "Stream-Fork-Offset": second };
  expect((await client.call("PUT", fork, { headers })).status).toBe(201);
  const third = await client.append(source, "3");
  await client.append(fork, "4");
  expect(await client.read(fork)).toEqual([1, 2, 4]);
  expect(await client.read(fork, `offset=${first}`)).toEqual([2, 4]);
  expect(await client.read(fork, `offset=${second}`)).toEqual([4]);
  expect(await refusalOf(await client.call("GET", fork, { query: `offset=${third}` }))).toBe("410 offset_gone");
  expect((await client.call("DELETE", source)).status).toBe(204);
  expect(await refusalOf(await client.call("GET", source))).toBe("410 stream_gone");
  expect(await refusalOf(await client.call("PUT", source, { headers: { "Content-Type": "application/json" } }))).toBe(
    "409 conflict",
  );
  expect(await client.read(fork)).toEqual([1, 2, 4]);
});
