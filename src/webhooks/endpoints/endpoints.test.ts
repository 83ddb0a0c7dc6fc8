/** Endpoints on SQLite: what is in force on the node that changes them and on one that follows the store, and what is sealed. */
import { afterEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { scratch } from "../../../test/support/temp.ts";
import { Keyring } from "../../access/keys/keyring.ts";
import { Vault } from "../../access/keys/vault.ts";
import { asAppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Store } from "../../store/contract/store.ts";
import { openStore } from "../../store/open.ts";
import { appRow } from "../../store/testing/rows.ts";
import { aMessage, leaseOf } from "../../store/testing/webhooks.ts";
import { ROOM_ENDPOINTS_PER_APP_MAX } from "../limits.ts";
import { signingAt, WebhookBook } from "./book.ts";
import { editedHeaders, whyNoHeaderName } from "./checks.ts";
import { WebhookEndpoints, type WebhookFields } from "./endpoints.ts";

const APP = asAppId("a");
const OTHER = asAppId("b");
const FIELDS: WebhookFields = {
  url: "https://example.com/hook",
  events: ["key.*"],
  channelPatterns: null,
  description: null,
  disabled: false,
  headers: { Authorization: "Bearer of-the-receiver" },
};

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

interface World {
  readonly store: Store;
  readonly vault: Vault;
  readonly book: WebhookBook;
  readonly endpoints: WebhookEndpoints;
  readonly changed: string[];
  /** A node that has only what is in the store. */
  readonly follower: (vault?: Vault) => Promise<WebhookBook>;
  nowMs: number;
}

async function world(): Promise<World> {
  const folder = scratch();
  const store = await openStore(folder.path);
  open.push({
    async [Symbol.asyncDispose]() {
      await store.close();
      folder[Symbol.dispose]();
    },
  });
  await store.change(async (change) => {
    for (const id of [APP, OTHER]) await change.putApp(appRow(id));
  });
  const vault = new Vault(randomBytes(32));
  const keyring = new Keyring(vault);
  keyring.load(await store.snapshot());
  const book = new WebhookBook(vault);
  const changed: string[] = [];
  book.onChange((app) => changed.push(app));
  const made = {
    store,
    vault,
    book,
    changed,
    nowMs: 1_800_000_000_000,
    follower: async (other = vault) => {
      const one = new WebhookBook(other);
      one.load(await store.snapshot());
      return one;
    },
  };
  const nowMs = (): number => made.nowMs;
  const endpoints = new WebhookEndpoints({ store, keyring, vault, book, addressCheck: () => undefined, nowMs });
  return Object.assign(made, { endpoints });
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );

describe("a change", () => {
  test("is in force here at once, and on a node that reads the store", async () => {
    const { endpoints, book, follower, changed } = await world();
    const { row, secret } = await endpoints.create(APP, "control", FIELDS);
    for (const one of [book, await follower()]) {
      const entry = one.get(row.id);
      expect(entry).toMatchObject({ row, headers: FIELDS.headers, channels: null } as never);
      expect(entry?.secrets.map(({ key }) => `whsec_${key.toString("base64")}`)).toEqual([secret]);
      expect(one.of(APP).map(({ row: { id } }) => id)).toEqual([row.id]);
      expect(one.of(OTHER)).toEqual([]);
    }
    expect(changed).toEqual([APP]);
    await endpoints.edit({ app: APP, id: row.id }, { events: ["room.*"], headers: { Authorization: null } });
    expect((await follower()).get(row.id)).toMatchObject({
      row: { events: ["room.*"], headerNames: [] },
      headers: {},
    } as never);
    await endpoints.remove({ app: APP, id: row.id });
    expect([book.get(row.id), (await follower()).get(row.id)]).toEqual([undefined, undefined]);
    expect(changed).toEqual([APP, APP, APP]);
  });

  test("of one application does not touch another's, and a snapshot without a change touches none", async () => {
    const { endpoints, book, changed, store } = await world();
    const { row } = await endpoints.create(APP, "control", FIELDS);
    const name = { app: OTHER, id: row.id };
    expect(await codeOf(endpoints.edit(name, {}))).toBe("webhook_not_found");
    expect(await codeOf(endpoints.rotate(name, 0))).toBe("webhook_not_found");
    expect(await codeOf(endpoints.remove(name))).toBe("webhook_not_found");
    const ofBackend = { app: APP, id: row.id, kinds: ["application"] } as const;
    expect(await codeOf(endpoints.remove(ofBackend))).toBe("webhook_not_found");
    const before = book.get(row.id);
    changed.length = 0;
    book.load(await store.snapshot());
    expect(book.get(row.id)).toBe(before);
    expect(changed).toEqual([]);
  });

  test("of an application that was deleted meanwhile is refused", async () => {
    const { endpoints } = await world();
    expect(await codeOf(endpoints.create(asAppId("gone"), "control", FIELDS))).toBe("not_found");
    expect(await endpoints.ofRoomUrl(asAppId("gone"), "https://example.com/")).toBeUndefined();
  });
});

describe("secrets", () => {
  test("sign together until the grace period is over", async () => {
    const made = await world();
    const { endpoints, follower } = made;
    const { row } = await endpoints.create(APP, "control", FIELDS);
    const began = made.nowMs;
    await endpoints.rotate({ app: APP, id: row.id }, 600);
    await endpoints.rotate({ app: APP, id: row.id }, 60);
    const seqsAt = async (ms: number): Promise<number[]> => {
      const entry = (await follower()).get(row.id);
      return entry ? signingAt(entry, began + ms).map(({ seq }) => seq) : [];
    };
    expect(await seqsAt(0)).toEqual([3, 2, 1]);
    expect(await seqsAt(59_999)).toEqual([3, 2, 1]);
    expect(await seqsAt(60_000)).toEqual([3, 1]);
    expect(await seqsAt(600_000)).toEqual([3]);
    // What has ended is not kept.
    made.nowMs += 600_000;
    await endpoints.rotate({ app: APP, id: row.id }, 0);
    expect((await made.store.webhookSecrets(row.id)).map(({ seq }) => seq)).toEqual([4]);
  });

  test("and headers are sealed: neither is in the store in clear text, and another master key opens none", async () => {
    const { endpoints, store, follower } = await world();
    const { row, secret } = await endpoints.create(APP, "control", FIELDS);
    const stored = JSON.stringify([await store.webhook(row.id), await store.webhookSecrets(row.id)]);
    expect(stored).not.toContain(secret.slice("whsec_".length, -4));
    expect(stored).not.toContain("of-the-receiver");
    const sealed = await follower(new Vault(randomBytes(32)));
    expect(sealed.get(row.id)).toMatchObject({ secrets: [], headers: {} });
    expect(sealed.sealed).toEqual([row.id]);
  });

  test("of one endpoint do not open as those of another", async () => {
    const { endpoints, store, vault } = await world();
    const { row: one } = await endpoints.create(APP, "control", FIELDS);
    const { row: other } = await endpoints.create(APP, "control", FIELDS);
    const [secret] = await store.webhookSecrets(one.id);
    if (!secret) throw new Error("it has no secret");
    const book = new WebhookBook(vault);
    book.load({ webhooks: [other], webhookSecrets: [{ ...secret, webhook: other.id }] });
    expect(book.get(other.id)?.secrets).toEqual([]);
  });
});

describe("URLs of rooms", () => {
  const url = (nr: number): string => `https://example.com/${nr}`;

  test("are made once, with a secret that follows from application and URL", async () => {
    const { endpoints, follower } = await world();
    const [first, second] = await Promise.all([endpoints.ofRoomUrl(APP, url(1)), endpoints.ofRoomUrl(APP, url(1))]);
    expect(first?.row).toEqual(second?.row as never);
    expect(first?.row).toMatchObject({ kind: "room", app: APP, url: url(1), events: [] } as never);
    const known = endpoints.roomSecret(APP, url(1));
    expect(known.id).toBe(first?.row.id ?? "");
    for (const entry of [first, (await follower()).get(known.id)])
      expect(entry?.secrets.map(({ key }) => `whsec_${key.toString("base64")}`)).toEqual([known.secret]);
    expect(endpoints.roomSecret(OTHER, url(1))).not.toMatchObject({ secret: known.secret });
    expect(endpoints.roomSecret(APP, url(2))).not.toMatchObject({ secret: known.secret });
  });

  test("are switched on again, and neither changed, rotated nor deleted", async () => {
    const { endpoints } = await world();
    const entry = await endpoints.ofRoomUrl(APP, url(1));
    const name = { app: APP, id: entry?.row.id ?? "" };
    await endpoints.disable(name.id, "gone");
    expect(endpoints.get(name).row).toMatchObject({ disabledWhy: "gone" });
    await endpoints.edit(name, { disabled: false });
    expect(endpoints.get(name).row).toMatchObject({ disabled: null, disabledWhy: null });
    expect(await codeOf(endpoints.edit(name, { url: url(2) }))).toBe("conflict");
    expect(await codeOf(endpoints.rotate(name, 0))).toBe("conflict");
    expect(await codeOf(endpoints.remove(name))).toBe("conflict");
  });

  test("beyond their number the oldest is forgotten, and those of others stay", async () => {
    const made = await world();
    const { endpoints, book } = made;
    await endpoints.ofRoomUrl(OTHER, url(1));
    for (let nr = 1; nr <= ROOM_ENDPOINTS_PER_APP_MAX + 1; nr++) {
      made.nowMs++;
      await endpoints.ofRoomUrl(APP, url(nr));
    }
    expect(book.of(APP)).toHaveLength(ROOM_ENDPOINTS_PER_APP_MAX);
    const urls = book.of(APP).map(({ row }) => row.url);
    expect([urls.includes(url(1)), urls.includes(url(2)), urls.includes(url(101))]).toEqual([false, true, true]);
    expect(book.of(OTHER)).toHaveLength(1);
  });

  test("are made without waiting for other nodes, which need them only when they send themselves", async () => {
    const { endpoints } = await world();
    let calls = 0;
    endpoints.onChange(() => {
      calls++;
      return new Promise(() => undefined);
    });
    expect(await endpoints.ofRoomUrl(APP, url(1))).toBeDefined();
    expect(calls).toBe(0);
  });

  test("one that waits for its first request is not the one that is forgotten", async () => {
    const made = await world();
    const { endpoints, book, store } = made;
    for (let nr = 1; nr <= ROOM_ENDPOINTS_PER_APP_MAX; nr++) {
      made.nowMs++;
      await endpoints.ofRoomUrl(APP, url(nr));
    }
    const { id } = endpoints.roomSecret(APP, url(100));
    await store.webhooks.enter(await leaseOf(store), [aMessage("s", { webhook: id })], [], { backlogMax: 9 });
    await endpoints.ofRoomUrl(APP, url(101));
    const urls = book.of(APP).map(({ row }) => row.url);
    expect([urls.includes(url(1)), urls.includes(url(100)), urls.includes(url(101))]).toEqual([false, true, true]);
  });
});

test("an endpoint that was disabled because it failed stays so, and is not disabled twice", async () => {
  const made = await world();
  const { row } = await made.endpoints.create(APP, "control", FIELDS);
  await made.endpoints.disable(row.id, "failing");
  made.nowMs += 1000;
  await made.endpoints.disable(row.id, "gone");
  expect(made.endpoints.get({ app: APP, id: row.id }).row).toMatchObject({
    disabled: made.nowMs - 1000,
    disabledWhy: "failing",
  });
  await made.endpoints.disable("absent", "gone");
});

describe("headers", () => {
  test.each(["Host", "content-length", "Content-Encoding", "TRANSFER-ENCODING", "Connection", "Keep-Alive", "TE"])(
    "%s cannot be set",
    (name) => expect(whyNoHeaderName(name)).toContain("the service sets this header itself"),
  );
  test.each(["Trailer", "Upgrade", "Proxy-Authorization", "Proxy-Connection", "webhook-id", "Webhook-Anything"])(
    "nor %s",
    (name) => expect(whyNoHeaderName(name)).toContain("the service sets this header itself"),
  );
  test.each(["Authorization", "X-Tenant", "User-Agent", "contents", "hosts"])("%s can", (name) =>
    expect(whyNoHeaderName(name)).toBeUndefined(),
  );

  test("are named in either case, and counted after the edit", () => {
    expect(editedHeaders({ "X-A": "1", "X-B": "2" }, { "x-a": "3", "x-b": null })).toEqual({ "x-a": "3" });
    expect(editedHeaders({ "X-A": "1" }, { "x-a": "***" })).toEqual({ "x-a": "1" });
    const ten = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`x-${at}`, "1"]));
    expect(() => editedHeaders(ten, { more: "1" })).toThrow("at most 10 headers");
    expect(editedHeaders(ten, { more: "1", "x-0": null })).toHaveProperty("more");
  });
});
