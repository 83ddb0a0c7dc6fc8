/** Connections of workers: order, many calls at once, a server that is gone, bounds, and bytes that are no calls. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { IS_FULL } from "../../test/support/slack.ts";
import { nextTurn, retried } from "../../test/support/wait.ts";
import { TooManyWaiting } from "../base/fair-queue.ts";
import { HistoryUnavailable } from "../history/contract/history.ts";
import { appendTexts, batchOf, numbers } from "../history/testing/kit.ts";
import { LeaseLost } from "../store/contract/leases.ts";
import { StoreError, StoreUnreachable } from "../store/contract/store.ts";
import { newFolders } from "../store/testing/places.ts";
import { VERSION } from "../version.ts";
import { connectStore } from "./client.ts";
import { decodeError, encodeError } from "./errors.ts";
import { CALLS, encode, HEADER_BYTES } from "./frames.ts";
import { REQUEST_MAX_BYTES } from "./limits.ts";
import { HELLO } from "./methods.ts";
import { numberOf, rawClient } from "./testing/raw-client.ts";
import { Served } from "./testing/served.ts";

const newFolder = newFolders();
let folder: string;
let served: Served;
beforeEach(async () => {
  folder = newFolder();
  served = await Served.open(folder);
});
afterEach(() => served.close());

describe("calls", () => {
  test("of one worker are done in their order, also without waiting for the one before", async () => {
    const { store, history } = await served.worker();
    const appending = numbers(1, 500).map((text) => appendTexts(history, [text]));
    const noting = numbers(1, 200).map((text) => store.heldMembers.put("n", { untilMs: 9e15, texts: [text] }, 1));
    const note = store.heldMembers.read(1, "n");
    const offsets = (await Promise.all(appending)).map(([one]) => one?.offset);
    expect(offsets).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
    await Promise.all(noting);
    expect(await note).toEqual({ untilMs: 9e15, texts: ["200"] });
  });

  test("ten thousand at once are all answered, each with its own result", async () => {
    const { store } = await served.worker();
    await store.change(async (change) => {
      for (let i = 0; i < 10; i++) await change.putMeta(`m${i}`, String(i));
    });
    const answers = await Promise.all(Array.from({ length: 10_000 }, (_, i) => store.meta(`m${i % 10}`)));
    expect(answers).toEqual(Array.from({ length: 10_000 }, (_, i) => String(i % 10)));
  });

  test("with long values are whole at the other end, whatever the pieces of the socket", async () => {
    const [one, other] = [(await served.worker()).store, (await served.worker()).store];
    const long = Array.from({ length: IS_FULL ? 3_000_000 : 500_000 }, (_, i) => i.toString(36)).join(" ");
    await one.change((change) => change.putMeta("long", long));
    const answers = await Promise.all([other.meta("long"), other.meta("none"), other.meta("long"), one.meta("long")]);
    expect(answers.map((answer) => answer === long)).toEqual([true, false, true, true]);
  });

  test("more than a worker may have under way are refused, and the others are answered", async () => {
    const { store } = await served.worker();
    const results = await Promise.allSettled(Array.from({ length: 50_100 }, () => store.meta("m")));
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused).toHaveLength(100);
    expect(refused[0]?.reason).toBeInstanceOf(StoreUnreachable);
    expect(await store.meta("m")).toBeUndefined();
  });

  test("that fail keep the class of their error", async () => {
    const { store, history } = await served.worker();
    await served.history.close();
    await expect(history.append(batchOf({}))).rejects.toBeInstanceOf(HistoryUnavailable);
    await expect(history.append(batchOf({}))).rejects.toThrow("the history is closed");
    // A method that throws at once.
    await expect(store.addUsage(undefined as never, undefined as never)).rejects.toBeInstanceOf(Error);
    for (const error of [
      new StoreError("a"),
      new StoreUnreachable("b"),
      new HistoryUnavailable("c"),
      new LeaseLost(),
      new TooManyWaiting("d"),
    ]) {
      const copy = decodeError(structuredClone(encodeError(error)));
      expect([copy.constructor, copy.message]).toEqual([error.constructor, error.message]);
    }
    const coded = decodeError(encodeError(Object.assign(new Error("full"), { code: "SQLITE_FULL" })));
    expect(coded).toMatchObject({ message: "full", code: "SQLITE_FULL" });
  });

  test("that are too long are refused with both numbers, and the connection stays", async () => {
    const { store } = await served.worker();
    const release = await store.lock("held");
    const huge = "x".repeat(REQUEST_MAX_BYTES);
    const changing = store.change((change) => change.putMeta("m", huge));
    await expect(changing).rejects.toThrow(`and ${REQUEST_MAX_BYTES} are allowed`);
    await store.change((change) => change.putMeta("m", "short"));
    expect(await store.meta("m")).toBe("short");
    await release();
    expect(served.warnings).toEqual([]);
  });
});

describe("a server that is gone", () => {
  test("fails calls at once, and workers connect when it is back", async () => {
    const { store, history } = await served.worker();
    let rewound = 0;
    history.onRewound(() => rewound++);
    await served.stopServing();
    await expect(store.meta("m")).rejects.toBeInstanceOf(StoreUnreachable);
    await expect(history.heads(0)).rejects.toBeInstanceOf(HistoryUnavailable);
    await expect(store.change(async () => 1)).rejects.toBeInstanceOf(StoreUnreachable);
    await expect(store.lock("c")).rejects.toBeInstanceOf(StoreUnreachable);
    await served.serve();
    await retried("the store answers again", () => store.revisions());
    await store.change((change) => change.putMeta("m", "back"));
    expect(await store.meta("m")).toBe("back");
    // A server that was started anew may have lost messages.
    expect(rewound).toBe(1);
  });

  test("fails what is under way", async () => {
    const { store } = await served.worker();
    const other = await served.worker();
    const begun = Promise.withResolvers<void>();
    const holding = other.store.change(async () => {
      begun.resolve();
      await new Promise(() => undefined);
    });
    await begun.promise;
    const waiting = store.meta("m");
    await nextTurn();
    await served.stopServing();
    await expect(waiting).rejects.toBeInstanceOf(StoreUnreachable);
    await expect(holding).rejects.toBeInstanceOf(StoreUnreachable);
  });

  test("a worker that starts without one says so", async () => {
    const connecting = connectStore({ path: `${folder}/nothing.sock`, waitMs: 100 });
    await expect(connecting).rejects.toThrow("the stores cannot be reached");
  });

  test("a closed store refuses calls", async () => {
    const { store, history } = await served.worker();
    await store.close();
    await history.close();
    await expect(store.meta("m")).rejects.toThrow("the store is closed");
    await expect(history.heads(0)).rejects.toThrow("the history is closed");
  });
});

describe("the server", () => {
  test("has a socket that only its owner can use", () => {
    expect(statSync(served.path).mode & 0o777).toBe(0o600);
  });

  test("cuts connections that send something else than calls, and goes on", async () => {
    const { store } = await served.worker();
    const good = [1, HELLO, [VERSION, "w"]];
    const first: readonly (readonly unknown[])[] = [
      [Buffer.from("GET / HTTP/1.1\r\nHost: example\r\n\r\n")],
      [Buffer.from([5, 0, 0, 0, CALLS, 1, 2, 3, 4, 5])],
      [["not a call"]],
      [[1, numberOf("store", "meta"), ["m"]]],
      [good, [2, 9999, []]],
      [good, [2, "change", []]],
      [good, [2, numberOf("store", "meta"), "m"]],
      [good, { length: 3 }],
    ];
    for (const messages of first) {
      const { socket, send, closed } = await rawClient(served.path);
      for (const message of messages) {
        if (Buffer.isBuffer(message)) socket.write(message);
        else send(message);
      }
      await closed;
    }
    expect(served.warnings).toHaveLength(first.length);
    expect(await store.meta("m")).toBeUndefined();
  });

  test("survives random bytes in frames", async () => {
    const { store } = await served.worker();
    for (let round = 0; round < 30; round++) {
      const { socket, send } = await rawClient(served.path);
      send([1, HELLO, [VERSION, `w${round}`]]);
      const payload = encode([2, numberOf("store", "meta"), ["m"]]);
      for (let at = 4; at < payload.length; at += 5) payload[at] = Math.floor(Math.random() * 256);
      const header = Buffer.alloc(HEADER_BYTES, CALLS);
      header.writeUInt32LE(payload.length);
      socket.end(Buffer.concat([header, payload]));
    }
    expect(await store.meta("m")).toBeUndefined();
  });

  test("reads frames in whatever pieces they arrive", async () => {
    const { socket } = await rawClient(served.path);
    const payload = encode([1, HELLO, [VERSION, "w"], 2, numberOf("store", "meta"), ["m"]]);
    const header = Buffer.alloc(HEADER_BYTES, CALLS);
    header.writeUInt32LE(payload.length);
    const answered = new Promise<void>((resolve) => socket.once("data", () => resolve()));
    for (const byte of Buffer.concat([header, payload])) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await answered;
    socket.destroy();
    expect(served.warnings).toEqual([]);
  });

  test("refuses a worker of another version with a sentence", async () => {
    const { socket, send } = await rawClient(served.path);
    const answer = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    send([1, HELLO, ["0.0.1", "w"]]);
    expect((await answer).toString("latin1")).toContain("this worker is Parley 0.0.1, and its stores are opened by");
    socket.destroy();
  });

  test("ends the earlier connection of a worker that connects again, with what it has not read of it", async () => {
    const earlier = await rawClient(served.path);
    earlier.send([1, HELLO, [VERSION, "same"]]);
    await new Promise<void>((resolve) => earlier.socket.once("data", () => resolve()));
    const later = await rawClient(served.path);
    later.send([1, HELLO, [VERSION, "same"]]);
    await earlier.closed;
    later.socket.destroy();
  });

  test("cuts a worker that does not read its responses, and serves the others", async () => {
    const { store } = await served.worker();
    await store.change((change) => change.putMeta("large", "x".repeat(4 * 1024 * 1024)));
    const { socket, send, closed } = await rawClient(served.path);
    socket.pause();
    send([1, HELLO, [VERSION, "w"]]);
    for (let nr = 2; served.warnings.length === 0; nr++) {
      send([nr, numberOf("store", "meta"), ["large"]]);
      await store.meta("small");
    }
    expect(served.warnings[0]).toContain("it does not read its responses");
    socket.resume();
    await closed;
  });

  test("ends a connection whose handling has failed, and says why", async () => {
    const { history, holdStill } = served;
    await served.stopServing();
    const store = Object.create(served.store, {
      workerLeases: {
        get: () => {
          throw new Error("no leases today");
        },
      },
    });
    const warnings: string[] = [];
    const { serveStore } = await import("./server.ts");
    const server = await serveStore({
      path: served.path,
      store,
      history,
      holdStill,
      warn: (text) => warnings.push(text),
    });
    const { closed } = await rawClient(served.path);
    await closed;
    expect(warnings).toEqual(["the connection of a worker to the stores has failed: no leases today"]);
    await server.close();
  });

  test("refuses a path that is too long for a socket", async () => {
    const { store, history, holdStill } = served;
    const { serveStore } = await import("./server.ts");
    const serving = serveStore({ path: `/tmp/${"x".repeat(120)}`, store, history, holdStill, warn: () => undefined });
    await expect(serving).rejects.toThrow("too long for a socket");
  });
});
