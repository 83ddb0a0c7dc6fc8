/** PUT <uploadUrl>: whole files and parts, row by row, and their failures. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { inPieces, rawCall, statusOf } from "../support/http.ts";
import { Backend, isRefusal, sha256, webm } from "../support/recordings.ts";
import { found, until } from "../support/wait.ts";

/** Longer than the service takes to close a connection: by then one that it should keep would be closed. */
const A_WHILE_MS = 1000;

setDefaultTimeout(60_000);

const MAX_BYTES = 1_000_000;

const server = await checkedServerForTests({ env: { PARLEY_MAX_RECORDING_BYTES: String(MAX_BYTES) } });
let backend: Backend;
beforeEach(async () => {
  backend = new Backend(await newApplication(server));
});

const range = (first: number, last: number, total: number | string) => ({
  "Content-Range": `bytes ${first}-${last}/${total}`,
});

/** The head of a PUT, as bytes: for requests that `fetch` would not send. */
const head = (uploadUrl: string, headers: Readonly<Record<string, string | number>>): string => {
  const lines = Object.entries({ Host: backend.app.host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `PUT ${uploadUrl.slice(uploadUrl.indexOf("/api/"))} HTTP/1.1\r\n${lines.join("")}\r\n`;
};

/** A raw connection to write to. */
function openSocket(): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
  });
}

const write = (socket: Socket, bytes: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve())));

/** Polls until the upload holds that many bytes. */
async function untilHeld(uploadUrl: string, total: number, wanted: number): Promise<void> {
  await until(`${wanted} bytes are held`, async () => (await backend.offset(uploadUrl, total)) === wanted);
}

/** Waits until the server has noticed that the previous writer is gone. */
const putWhenFree = (uploadUrl: string, body: Uint8Array, headers: Readonly<Record<string, string>>) =>
  found("the upload is free", async () => {
    const answer = await backend.put(uploadUrl, body, headers);
    return answer.status === 423 ? undefined : answer;
  });

async function bytesOf(id: string): Promise<Uint8Array> {
  return (await backend.fetch(await backend.link(id, "download"))).bytes();
}

describe("PUT <uploadUrl>", () => {
  test("without Content-Range the body is the whole file, with or without a length", async () => {
    const bytes = webm(300_000);
    for (const body of [bytes, inPieces(bytes)]) {
      const { _id, uploadUrl } = await backend.begin();
      expect((await backend.put(uploadUrl, body)).body).toEqual({ offset: 300_000 } as never);
      expect((await backend.complete(_id)).sizeInBytes).toBe(300_000);
      expect(sha256(await bytesOf(_id))).toBe(sha256(bytes));
    }
  });

  test("parts each begin at the current offset; `bytes */T` queries it", async () => {
    const bytes = webm(250_001);
    const { _id, uploadUrl } = await backend.begin();
    expect(await backend.offset(uploadUrl, bytes.length)).toBe(0);
    for (let at = 0; at < bytes.length; at += 100_000) {
      const end = Math.min(at + 100_000, bytes.length);
      expect(await backend.mustPut(uploadUrl, bytes.slice(at, end), range(at, end - 1, bytes.length))).toBe(end);
      expect(await backend.offset(uploadUrl, bytes.length)).toBe(end);
    }
    await backend.complete(_id);
    expect(sha256(await bytesOf(_id))).toBe(sha256(bytes));
  });

  test("a part that does not begin at the current offset is 409 {offset}: a gap, a repetition, the whole file again", async () => {
    const { uploadUrl } = await backend.begin();
    const bytes = webm(100);
    const mismatch = (offset: number) => ({ status: 409, code: "offset_mismatch", offset });
    expect(isRefusal(await backend.put(uploadUrl, bytes.slice(50), range(50, 99, 100)))).toEqual(mismatch(0));
    await backend.mustPut(uploadUrl, bytes.slice(0, 60), range(0, 59, 100));
    for (const [first, last] of [
      [0, 59],
      [59, 99],
      [61, 99],
    ] as const)
      expect(isRefusal(await backend.put(uploadUrl, bytes.slice(first, last + 1), range(first, last, 100)))).toEqual(
        mismatch(60),
      );
    expect(isRefusal(await backend.put(uploadUrl, bytes))).toEqual(mismatch(60));
    expect(await backend.mustPut(uploadUrl, bytes.slice(60), range(60, 99, 100))).toBe(100);
    // Sent twice: the response to the second says that all bytes are there.
    expect(isRefusal(await backend.put(uploadUrl, bytes.slice(60), range(60, 99, 100)))).toEqual(mismatch(100));
  });

  test("the first part fixes the total T; a query does not", async () => {
    const { _id, uploadUrl } = await backend.begin();
    expect(await backend.offset(uploadUrl, 77)).toBe(0);
    await backend.mustPut(uploadUrl, webm(10), range(0, 9, 20));
    for (const total of [19, 21, 15]) {
      const answer = await backend.put(uploadUrl, webm(5), range(10, 14, total));
      expect(isRefusal(answer)).toMatchObject({ status: 400, code: "invalid_request" });
      expect(answer.body.message).toStartWith("Content-Range: ");
    }
    expect((await backend.put(uploadUrl, undefined, { "Content-Range": "bytes */21" })).status).toBe(400);
    expect((await backend.put(uploadUrl, webm(12))).status).toBe(400);
    await backend.mustPut(uploadUrl, webm(10), range(10, 19, 20));
    expect((await backend.complete(_id)).sizeInBytes).toBe(20);
  });

  test.each([
    "bytes",
    "bytes 0-9",
    "bytes 9-0/*",
    "bytes 9-0/10",
    "bytes 0-10/10",
    "bytes -5/10",
    "bytes 0-9/10, 20-29/30",
    "items 0-9/10",
    "0-9/10",
    "bytes 0-99999999999999999999/10",
    "bytes *-9/*",
    "x".repeat(5000),
  ])("an invalid Content-Range is 400 and named: %s", async (header) => {
    const { uploadUrl } = await backend.begin();
    const { status, body } = await backend.put(uploadUrl, webm(10), { "Content-Range": header });
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    expect(body.error.details?.[0]?.field).toBe("Content-Range");
    expect(await backend.offset(uploadUrl, 10)).toBe(0);
  });

  test("a length that differs from the range is 400, and no byte is kept", async () => {
    const { uploadUrl } = await backend.begin();
    for (const size of [9, 11]) {
      expect((await backend.put(uploadUrl, webm(size), range(0, 9, 20))).status).toBe(400);
      expect(await backend.offset(uploadUrl, 20)).toBe(0);
    }
  });

  test("more bytes than the range, without a length, are 400, and the bytes of the range are kept", async () => {
    const bytes = webm(50_000);
    const { _id, uploadUrl } = await backend.begin();
    const answer = await backend.put(uploadUrl, inPieces(webm(90_000), 7000), range(0, 9999, 50_000));
    expect(isRefusal(answer)).toEqual({ status: 400, code: "invalid_request", offset: 10_000 });
    expect(await backend.offset(uploadUrl, 50_000)).toBe(10_000);
    await backend.app.must("DELETE", `/recording/${_id}`);
    const second = await backend.begin();
    await backend.put(second.uploadUrl, inPieces(bytes, 7000), range(0, 9999, 50_000));
    await backend.mustPut(second.uploadUrl, bytes.slice(10_000), range(10_000, 49_999, 50_000));
    await backend.complete(second._id);
    expect(sha256(await bytesOf(second._id))).toBe(sha256(bytes));
  });

  test("fewer bytes than the range, without a length, are 400, and the offset says how many arrived", async () => {
    const { uploadUrl } = await backend.begin();
    const answer = await backend.put(uploadUrl, inPieces(webm(4000)), range(0, 9999, 10_000));
    expect(isRefusal(answer)).toEqual({ status: 400, code: "invalid_request", offset: 4000 });
    expect(await backend.offset(uploadUrl, 10_000)).toBe(4000);
  });

  test("a recording over the maximum size is 413, with or without a length", async () => {
    const announced = await backend.begin();
    expect(isRefusal(await backend.put(announced.uploadUrl, webm(10), range(0, 9, MAX_BYTES + 1)))).toEqual({
      status: 413,
      code: "recording_too_large",
    });
    expect((await backend.put(announced.uploadUrl, webm(MAX_BYTES + 1))).status).toBe(413);
    expect(await backend.offset(announced.uploadUrl, 10)).toBe(0);
    const silent = await backend.begin();
    expect((await backend.put(silent.uploadUrl, inPieces(webm(MAX_BYTES + 70_000)))).status).toBe(413);
    // That upload has ended: it can never be completed.
    expect((await backend.put(silent.uploadUrl, webm(10))).status).toBe(404);
    expect((await backend.record({}, webm(MAX_BYTES))).sizeInBytes).toBe(MAX_BYTES);
  });

  test("after a break at any byte the received bytes are kept, and the rest completes them", async () => {
    const bytes = webm(120_000);
    for (const cut of [0, 1, 63, 64, 16_383, 65_536, 119_999]) {
      const { _id, uploadUrl } = await backend.begin();
      const socket = await openSocket();
      await write(socket, head(uploadUrl, { "Content-Length": bytes.length }));
      await write(socket, bytes.subarray(0, cut));
      if (cut > 0) await untilHeld(uploadUrl, bytes.length, cut);
      socket.destroy();
      const rest = range(cut, bytes.length - 1, bytes.length);
      const answer = await putWhenFree(uploadUrl, bytes.slice(cut), rest);
      expect([cut, answer.status, answer.body.offset]).toEqual([cut, 200, bytes.length]);
      await backend.complete(_id);
      expect(sha256(await bytesOf(_id))).toBe(sha256(bytes));
    }
  });

  test("one writer at a time: a second one is 423, and so are complete and delete meanwhile", async () => {
    const { _id, uploadUrl } = await backend.begin();
    const socket = await openSocket();
    await write(socket, head(uploadUrl, { "Content-Length": 1000 }));
    await write(socket, webm(400));
    await untilHeld(uploadUrl, 1000, 400);
    expect(isRefusal(await backend.put(uploadUrl, webm(600), range(400, 999, 1000)))).toEqual({
      status: 423,
      code: "upload_busy",
    });
    expectAppRefusal(await backend.app.call("POST", `/recording/${_id}/complete`), 423, "upload_busy");
    expectAppRefusal(await backend.app.call("DELETE", `/recording/${_id}`), 423, "upload_busy");
    socket.destroy();
    expect((await putWhenFree(uploadUrl, webm(600), range(400, 999, 1000))).body.offset).toBe(1000);
    await backend.complete(_id);
  });

  test("a slow writer is not closed; a connection whose upload has ended, or belongs to another writer, has the usual idle timeout", async () => {
    const { uploadUrl } = await backend.begin();
    const socket = await openSocket();
    await write(socket, head(uploadUrl, { "Content-Length": 1000 }));
    await write(socket, webm(400));
    await untilHeld(uploadUrl, 1000, 400);

    const ended = await backend.begin();
    await backend.mustPut(ended.uploadUrl, webm(10));
    await backend.complete(ended._id);
    const cancelled = await backend.begin();
    await backend.app.must("DELETE", `/recording/${cancelled._id}`);
    const whole = await backend.begin();
    const idle = [
      ...Array.from({ length: 20 }, () => ({ status: 409, url: ended.uploadUrl, length: 1000, body: "" })),
      { status: 404, url: cancelled.uploadUrl, length: 1000, body: "" },
      { status: 423, url: uploadUrl, length: 1000, body: "" },
      // The upload is complete, and then the connection stays idle.
      { status: 200, url: whole.uploadUrl, length: 3, body: "abc" },
    ];
    const closed = idle.map(async ({ status, url, length, body }) => {
      const one = await openSocket();
      let answer = "";
      one.on("data", (bytes) => (answer += bytes.toString("latin1")));
      const end = new Promise((resolve) => one.on("close", resolve).on("error", () => undefined));
      await write(one, head(url, { "Content-Length": length }) + body);
      await end;
      expect(statusOf(answer)).toBe(status);
    });
    await Promise.all(closed);
    await Bun.sleep(A_WHILE_MS);
    await write(socket, webm(600));
    await untilHeld(uploadUrl, 1000, 1000);
    socket.destroy();
  });

  test("a body whose application is deleted meanwhile is refused, and none of it is kept", async () => {
    const { uploadUrl, _id } = await backend.begin();
    const socket = await openSocket();
    const answered = new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (bytes) => {
        text += bytes.toString("latin1");
        if (text.includes("requestId") || text.includes("offset")) resolve(text);
      });
      socket.on("close", () => resolve(text));
    });
    await write(socket, head(uploadUrl, { "Content-Length": 1000 }));
    await write(socket, webm(400));
    await untilHeld(uploadUrl, 1000, 400);
    await server.admin.must("DELETE", `/apps/${backend.app.name}`);
    await write(socket, webm(600));
    expect(statusOf(await answered)).toBe(404);
    socket.destroy();
    const left = (): string[] => readdirSync(join(server.data, "recordings", "uploads"));
    await until("its files are gone", () => !left().some((name) => name.startsWith(_id)));
  });

  test("of bodies sent in parallel one is accepted, and the file is exactly that one", async () => {
    const { _id, uploadUrl } = await backend.begin();
    const all = Array.from({ length: 8 }, (_, i) => webm(200_000, i + 1));
    const answers = await Promise.all(all.map((bytes) => backend.put(uploadUrl, bytes)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status } of answers) expect([200, 409, 423]).toContain(status);
    await backend.complete(_id);
    expect(all.map(sha256)).toContain(sha256(await bytesOf(_id)));
  });

  test("a body after completion is 409", async () => {
    const { _id, uploadUrl } = await backend.begin();
    await backend.mustPut(uploadUrl, webm(10));
    await backend.complete(_id);
    for (const headers of [{}, range(10, 19, 20), { "Content-Range": "bytes */10" }])
      expect(isRefusal(await backend.put(uploadUrl, webm(10), headers))).toEqual({
        status: 409,
        code: "upload_complete",
        offset: 10,
      });
  });

  test("an address changed in any character of its signature, or of another upload or application, is 403", async () => {
    const [one, two] = [await backend.begin(), await backend.begin()];
    const proof = one.uploadUrl.slice(-43);
    const wrong = [
      ...Array.from(proof, (mark, at) => proof.slice(0, at) + (mark === "A" ? "B" : "A") + proof.slice(at + 1)),
      "",
      proof.slice(1),
      `${proof}x`,
      two.uploadUrl.slice(-43),
    ];
    for (const changed of wrong)
      expect([changed, (await backend.put(one.uploadUrl.replace(proof, changed), webm(1))).status]).toEqual([
        changed,
        403,
      ]);
    expect((await backend.put(one.uploadUrl.slice(0, one.uploadUrl.indexOf("?")), webm(1))).status).toBe(403);
    const other = new Backend(await newApplication(server));
    expect((await other.put(one.uploadUrl, webm(1))).status).toBe(403);
    expect((await backend.put(one.uploadUrl.replace(one._id, "..%2f..%2fx"), webm(1))).status).toBe(403);
    expect(await backend.offset(one.uploadUrl, 1)).toBe(0);
  });

  test("an empty body fixes no total: the bytes may still follow, whole or in parts", async () => {
    for (const headers of [{}, range(0, 9, 10)]) {
      const { _id, uploadUrl } = await backend.begin();
      expect(statusOf(await rawCall(server.url, head(uploadUrl, { "Content-Length": 0 })))).toBe(200);
      expect(await backend.offset(uploadUrl, 10)).toBe(0);
      const bytes = webm(10);
      expect(await backend.mustPut(uploadUrl, bytes, headers)).toBe(10);
      expect((await backend.put(uploadUrl, webm(1), range(10, 10, 11))).status).toBe(400);
      await backend.complete(_id);
      expect(sha256(await bytesOf(_id))).toBe(sha256(bytes));
    }
  });

  test("an empty body is an empty recording; invalid headers are refused", async () => {
    const { _id, uploadUrl } = await backend.begin();
    expect(statusOf(await rawCall(server.url, head(uploadUrl, { "Content-Length": 0 })))).toBe(200);
    expect((await backend.complete(_id)).sizeInBytes).toBe(0);
    expect(await bytesOf(_id)).toHaveLength(0);
    const other = await backend.begin();
    expect(statusOf(await rawCall(server.url, head(other.uploadUrl, { "Content-Length": -5 })))).toBe(400);
    expect(statusOf(await rawCall(server.url, head(other.uploadUrl, { "Content-Length": "1e3" })))).toBe(400);
  });
});
