/** docs/asyncapi.yaml is valid for the official parser, lists every frame of the sources, and matches the frames of a live server. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AsyncAPIDocumentInterface, Parser } from "@asyncapi/parser";
import { z } from "zod";
import manifest from "../../package.json";
import { decodeFrame } from "../../src/protocol/frames.ts";
import { FRAME_FIELDS } from "../../src/protocol/large-frames.ts";
import { mintToken } from "../support/admin.ts";
import { declarationOf, sourcesIn } from "../support/declarations.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { welcomed } from "../support/wire/connect.ts";
import type { Wire } from "../support/wire/wire.ts";
import { blocks, readPage } from "./support/page.ts";

/** Frame types in each direction; a test compares them with the sources. */
const SENT = [
  "welcome",
  "ack",
  "error",
  "message",
  "direct",
  "presence",
  "state",
  "occupancy",
  "history",
  "going_away",
  "pong",
];
const RECEIVED = ["subscribe", "unsubscribe", "publish", "send", "history", "state", "renew", "ping"];
/** Names of the document for types that occur in both directions. */
const RECEIVED_NAMES: Readonly<Record<string, string>> = { history: "readHistory", state: "setState" };
const receivedName = (type: string): string => RECEIVED_NAMES[type] ?? type;

/** The parser takes three seconds of CPU at once, which can be a minute on a busy machine. */
const PARSE_MS = 180_000;

let document: AsyncAPIDocumentInterface;
let diagnostics: { code: string | number; message: string }[];
let server: Server;
/** Every frame of the service, and of clients. */
interface SomeFrame {
  readonly type: string;
  readonly [field: string]: unknown;
}

const sent: SomeFrame[] = [];
const received: SomeFrame[] = [];

beforeAll(async () => {
  const parsed = await new Parser().parse(readPage("docs/asyncapi.yaml"));
  diagnostics = parsed.diagnostics.map(({ code, message }) => ({ code, message }));
  if (!parsed.document) throw new Error(JSON.stringify(diagnostics, null, 1));
  document = parsed.document;
  server = await startParley();
}, PARSE_MS);
afterAll(() => server?.kill("SIGKILL"));

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
}

const schemaOf = (name: string): Schema => document.components().messages().get(name)?.payload()?.json() as Schema;

/** Fields of a value that its schema does not name. A missing field makes the document wrong, although it would validate. */
function unnamed(value: unknown, { properties, items }: Schema, path = ""): string[] {
  if (Array.isArray(value)) return items ? value.flatMap((one) => unnamed(one, items, `${path}[]`)) : [];
  if (typeof value !== "object" || value === null || !properties) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const schema = properties[key];
    return schema ? unnamed(inner, schema, `${path}.${key}`) : [`${path}.${key}`];
  });
}

function fits(frame: Record<string, unknown>, name = String(frame.type)): void {
  const schema = schemaOf(name);
  expect(schema).toBeDefined();
  const result = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(frame);
  expect(result.success ? "" : `${JSON.stringify(frame)}: ${z.prettifyError(result.error)}`).toBe("");
  expect(unnamed(frame, schema)).toEqual([]);
}

/** A frame of a page whose values are left out. */
const withValues = (text: string): string =>
  text
    .replaceAll("{…}", "{}")
    .replaceAll(", …]", "]")
    .replaceAll("[…]", "[]")
    .replaceAll('"data":…', '"data":0')
    .replaceAll("…", "x");

describe("the AsyncAPI document", () => {
  test("is accepted by the official parser", () => {
    // The parser recommends 3.1; our document is 3.0.
    expect(diagnostics.filter(({ code }) => code !== "asyncapi-latest-version")).toEqual([]);
    expect(document.version()).toBe("3.0.0");
    expect(document.info().version()).toBe(manifest.version);
  });

  test("lists every frame in both directions, with an operation of the right direction", async () => {
    const messages = (direction: "send" | "receive") =>
      document
        .operations()
        .filter((operation) => operation.action() === direction)
        .flatMap((operation) => operation.messages().map((message) => message.id()));
    const replies = document
      .operations()
      .all()
      .flatMap(
        (operation) =>
          operation
            .reply()
            ?.messages()
            .map((message) => message.id()) ?? [],
      );
    expect([...new Set([...messages("send"), ...replies])].sort()).toEqual([...SENT].sort());
    expect(messages("receive").sort()).toEqual(RECEIVED.map(receivedName).sort());
    const encoders = [...sourcesIn("src/protocol").values()].join("\n");
    const written = new Set([...encoders.matchAll(/\{"type":"(\w+)"/g)].map(([, type]) => type));
    // The plain ping of clients is a constant beside the frames that the service writes.
    expect([...written].sort()).toEqual([...SENT, "ping"].sort());
    const dispatched = [...declarationOf("Dispatch", sourcesIn("src/realtime")).matchAll(/case "(\w+)":/g)].map(
      ([, type]) => type,
    );
    expect([...dispatched, "ping"].sort()).toEqual([...RECEIVED].sort());
  });

  test("every field of a client's frame is read in large frames too", () => {
    const fields = RECEIVED.flatMap((type) => Object.keys(schemaOf(receivedName(type)).properties ?? {}));
    expect([...new Set(fields)].sort()).toEqual([...FRAME_FIELDS].sort());
  });

  test("lists both ways to authenticate", () => {
    const schemes = document.securitySchemes().all();
    expect(schemes.map((one) => [one.type(), one.in(), one.name()]).sort()).toEqual([
      ["httpApiKey", "query", "key"],
      ["httpApiKey", "query", "token"],
    ]);
    for (const one of document.servers()) expect(one.security()).toHaveLength(2);
    expect(
      document
        .channels()
        .all()
        .map((channel) => channel.address()),
    ).toEqual(["/v1"]);
  });

  test("has examples that match its schemas", () => {
    const messages = document.components().messages().all();
    expect(messages).toHaveLength(SENT.length + RECEIVED.length);
    for (const message of messages) {
      expect(message.examples().all()).not.toBeEmpty();
      for (const example of message.examples()) fits(example.payload() as Record<string, unknown>, message.id());
    }
  });

  test("has schemas that refuse wrong frames", () => {
    const refuses = (frame: Record<string, unknown>) => expect(() => fits(frame)).toThrow();
    refuses({ type: "ack" });
    refuses({ type: "publish", channel: "a*", data: 1 });
    refuses({ type: "welcome", peerId: "a", expiresAt: "soon", serverTime: 1, maxMessageSize: 1 });
    refuses({ type: "pong", undocumented: true });
    refuses({ type: "presence", channel: "a", joined: [{ peerId: "b", undocumented: 1 }], left: [] });
  });

  test("matches the frames of a live server, each type at least once", async () => {
    const { secretKey, publishableKey } = server.keys;
    const claims = { metadata: { iceServers: [] }, peerMetadata: { name: "Ann" } };
    const key = await server.admin.createKey("demo");
    const channelRules = [{ pattern: "kept/*", history: { messages: 10, seconds: 60 }, graceSec: 5 }];
    await call(`${server.url}/api/internal/v1/apps/demo`, {
      method: "PATCH",
      bearer: server.adminToken,
      body: { channelRules },
    });
    const token = await mintToken(server.url, key.credential, { peerId: "ann", ...claims });
    const ann = await welcomed(server.url, `token=${token}`);
    const ben = await welcomed(server.url, `key=${publishableKey}`);
    const benId = ben.peerId;
    const say = async (one: Wire, frame: SomeFrame): Promise<SomeFrame> => {
      received.push({ ...frame, requestId: "as sent" });
      return one.request(frame);
    };
    await say(ben, { type: "subscribe", channel: "chat/1", includeSenderMetadata: true });
    await ben.until("presence");
    await ann.join("chat/1");
    await ben.until("presence");
    await say(ben, { type: "subscribe", channel: "kept/1", rewind: 5, state: true, occupancy: true });
    // Its roster first: members that arrive together are not announced to each other.
    await ben.until("presence", ({ channel, snapshot }) => channel === "kept/1" && snapshot === true);
    await ann.join("kept/1");
    await ben.until("presence", ({ channel, snapshot }) => channel === "kept/1" && !snapshot);
    await say(ann, { type: "state", channel: "kept/1", state: { typing: true } });
    await ben.until("state");
    await say(ben, { type: "publish", channel: "kept/1", data: 1, id: "once" });
    await say(ben, { type: "publish", channel: "kept/1", data: 1, id: "once" });
    await say(ben, { type: "history", channel: "kept/1", limit: 5 });
    await say(ann, { type: "unsubscribe", channel: "kept/1" });
    await say(ann, { type: "subscribe", channel: "kept/1", rewind: "5m" });
    await ann.until("message");
    await say(ann, { type: "publish", channel: "chat/1", data: [null, 1.5, "ü"] });
    await ben.until("message");
    await say(ann, { type: "send", to: benId, data: { for: "you" } });
    await ben.until("direct");
    await say(ann, { type: "send", to: "nobody", data: null });
    await say(ann, { type: "renew", token });
    await say(ann, { type: "renew", token: "none.of.ours" });
    await say(ann, { type: "ping" });
    ann.send({ type: "ping" });
    await ann.until("pong", ({ requestId }) => requestId === undefined);
    await say(ann, { type: "unsubscribe", channel: "chat/1" });
    await ben.until("presence", ({ left }) => left.length === 1);
    ben.send("not JSON");
    await ben.until("error");
    await call(`${server.url}/v1/channels/chat%2F1/publish`, { bearer: secretKey, body: { data: 1 } });
    await ben.until("message");
    // The secret behind ann's token ends at once: an unsolicited error, then 4002.
    await server.admin.rotate(key.keyId, { graceSec: 0 });
    await ann.until("error", ({ code }) => code === "token_expired");
    expect((await ann.closed()).code).toBe(4002);
    server.signal("SIGTERM");
    await ben.until("going_away");
    expect((await ben.closed()).code).toBe(1001);

    sent.push(...ann.frames, ...ben.frames);
    for (const frame of sent) fits(frame);
    for (const frame of received) fits(frame, receivedName(String(frame.type)));
    expect([...new Set(sent.map(({ type }) => type))].sort()).toEqual([...SENT].sort());
    expect([...new Set(received.map(({ type }) => type))].sort()).toEqual([...RECEIVED].sort());
  });

  test("describes the frames that the pages show, and the service reads those of clients", () => {
    const pages = ["docs/history.md", "docs/presence-and-reconnect.md", "docs/protocol.md"];
    const lines = pages.flatMap((page) =>
      blocks(page)
        .filter(({ language }) => language === "")
        .flatMap(({ text }) => text.split("\n").filter((line) => /^[→←]? ?\{/.test(line))),
    );
    expect(lines.length).toBeGreaterThan(35);
    for (const line of lines) {
      const frame = JSON.parse(withValues(line.replace(/^[→←] /, ""))) as SomeFrame;
      if (!line.startsWith("→")) fits(frame);
      else {
        fits(frame, receivedName(frame.type));
        expect(decodeFrame(JSON.stringify(frame))).toMatchObject({ type: frame.type });
      }
    }
  });

  test("lists the error codes of docs/protocol.md", () => {
    const section = readPage("docs/protocol.md").split(/^## /m)[2] ?? "";
    const named = section
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, code = ""]) => code));
    const listed = schemaOf("error").properties?.code?.enum ?? [];
    expect([...listed].sort()).toEqual([...named].sort());
  });
});
