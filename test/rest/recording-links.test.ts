/** Links to recordings: GET /recording/:id/view and /download, and the files that they lead to. */
import { beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:net";
import { expectAppRefusal, newApplication } from "../support/application.ts";
import { startChecked } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { nowSeconds } from "../support/jwt.ts";
import { Backend, type Recording, sha256, webm } from "../support/recordings.ts";

setDefaultTimeout(60_000);

let backend: Backend;
let made: Recording;
const bytes = webm(100_000);
const server = await checkedServerForTests({ env: { PARLEY_LINK_SECONDS: "1800" } });
beforeEach(async () => {
  backend = new Backend(await newApplication(server));
  made = await backend.record({}, bytes);
});

/** A player that pauses like this must not be cut. */
const PLAYER_PAUSE_MS = 15_000;

/** Begins with the first test, so that its pause takes no time of its own: whether the player has received everything. */
async function playWithPause(): Promise<boolean> {
  const large = webm(24 * 1024 * 1024);
  const own = new Backend(await newApplication(server));
  const one = await own.record({}, large);
  const { pathname, search } = new URL(await own.link(one._id));
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    let count = 0;
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${own.app.host}\r\nConnection: close\r\n\r\n`),
    );
    socket.once("data", () => {
      socket.pause();
      setTimeout(() => socket.resume(), PLAYER_PAUSE_MS);
    });
    socket.on("data", (chunk) => {
      count += chunk.length;
      if (count > large.length) socket.destroy();
    });
    socket.on("close", () => resolve(count > large.length));
    socket.on("error", reject);
  });
}

let paused: Promise<boolean>;
beforeAll(() => {
  paused = playWithPause();
  // The test reports it.
  paused.catch(() => undefined);
});

const ask = (range: string, headers: Record<string, string> = {}): Promise<Response> =>
  link("view").then((url) => backend.fetch(url, { headers: { Range: range, ...headers } }));
const link = (kind: "view" | "download", query = ""): Promise<string> => backend.link(made._id, kind, query);

describe("GET /recording/:id/view, /download", () => {
  test("return {url, expiresAt}: valid as long as the setting says, or expiresInSec up to 43200", async () => {
    for (const kind of ["view", "download"]) {
      const path = `/recording/${made._id}/${kind}`;
      const answer = await backend.app.must<{ url: string; expiresAt: number }>("GET", path);
      expect(Object.keys(answer)).toEqual(["url", "expiresAt"]);
      expect(answer.expiresAt - nowSeconds()).toBeWithin(1740, 1802);
      const longest = await backend.app.must<Json>("GET", `${path}?expiresInSec=43200`);
      expect(Number(longest.expiresAt) - nowSeconds()).toBeWithin(43_140, 43_202);
      for (const wrong of ["0", "43201", "-1", "1.5", "x", ""])
        expectAppRefusal(await backend.app.call("GET", `${path}?expiresInSec=${wrong}`), 400, "invalid_request");
    }
  });

  test("lead to the whole file, with the type of its signature, nosniff, sandbox, private and no-store", async () => {
    for (const [kind, how] of [
      ["view", "inline"],
      ["download", "attachment"],
    ] as const) {
      const response = await backend.fetch(await link(kind));
      expect(response.status).toBe(200);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-type": "video/webm",
        "content-length": "100000",
        "content-disposition": `${how}; filename="${made.downloadName}"`,
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox",
        "cache-control": "private, no-store",
        "referrer-policy": "no-referrer",
        "accept-ranges": "bytes",
      });
      expect(sha256(await response.bytes())).toBe(sha256(bytes));
    }
  });

  test("HEAD responds the same, without the bytes", async () => {
    const response = await backend.fetch(await link("view"), { method: "HEAD" });
    expect([response.status, response.headers.get("content-length")]).toEqual([200, "100000"]);
    expect(await response.text()).toBe("");
  });

  test.each([
    ["<!doctype html><script>alert(document.domain)</script>", "video"],
    ["<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "screen"],
    ["%PDF-1.7", "audio"],
    ["", "composition"],
  ])("a file that is no video is only an attachment, also to view: %p", async (text, type) => {
    const one = await backend.record({ type }, Buffer.from(text));
    for (const kind of ["view", "download"] as const) {
      const { headers } = await backend.fetch(await backend.link(one._id, kind));
      expect(headers.get("content-type")).toBe("application/octet-stream");
      expect(headers.get("content-disposition")).toBe(`attachment; filename="${one.downloadName}"`);
      expect(headers.get("content-security-policy")).toBe("sandbox");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("an audio recording has an audio type", async () => {
    const one = await backend.record({ type: "audio" }, Buffer.from("OggS\0\x02rest", "latin1"));
    expect((await backend.fetch(await backend.link(one._id))).headers.get("content-type")).toBe("audio/ogg");
  });
});

describe("Range", () => {
  test.each<[string, number, number]>([
    ["bytes=0-0", 0, 0],
    ["bytes=10-19", 10, 19],
    ["bytes=99990-", 99_990, 99_999],
    ["bytes=-5", 99_995, 99_999],
    ["bytes=-999999", 0, 99_999],
    ["bytes=0-999999", 0, 99_999],
  ])("%s: 206 with exactly those bytes", async (range, first, last) => {
    const response = await ask(range);
    expect([response.status, response.headers.get("content-range")]).toEqual([206, `bytes ${first}-${last}/100000`]);
    expect(response.headers.get("content-length")).toBe(String(last - first + 1));
    expect(response.headers.get("content-security-policy")).toBe("sandbox");
    expect(await response.bytes()).toEqual(bytes.slice(first, last + 1));
  });

  test.each(["bytes=100000-", "bytes=100000-100001", "bytes=99999999999-", "bytes=-0", "bytes=20-10"])(
    "beyond the end or reversed: %s is 416 with the size",
    async (range) => {
      const response = await ask(range);
      expect([response.status, response.headers.get("content-range")]).toEqual([416, "bytes */100000"]);
      expect(((await response.json()) as Json).error).toEqual({ code: "range_not_satisfiable" });
    },
  );

  test.each(["bytes=0-1,5-6", "bytes=0-0, -1", "lines=1-2", "bytes=x", "bytes=", "bytes=1-2-3"])(
    "several ranges, or an invalid one: %s is the whole file",
    async (range) => {
      const response = await ask(range);
      expect(response.status).toBe(200);
      expect(await response.bytes()).toHaveLength(100_000);
    },
  );

  test("with If-Range, the part is sent only if the file is unchanged", async () => {
    const etag = (await ask("bytes=0-0")).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{24}"$/);
    expect((await ask("bytes=0-9", { "If-Range": etag })).status).toBe(206);
    expect((await ask("bytes=0-9", { "If-Range": '"another"' })).status).toBe(200);
  });
});

describe("a link", () => {
  test("changed in any byte is refused", async () => {
    const whole = await link("view");
    const path = whole.slice(whole.indexOf("/api/"));
    const origin = whole.slice(0, whole.indexOf("/api/"));
    for (let at = 1; at < path.length; at++) {
      const other = path[at] === "0" ? "1" : "0";
      const response = await backend.fetch(origin + path.slice(0, at) + other + path.slice(at + 1));
      expect([at, path[at], response.status >= 400 && response.status < 500]).toEqual([at, path[at], true]);
      expect(response.headers.get("content-type")).toStartWith("application/json");
    }
  });

  test("of another kind, time, recording or application is refused", async () => {
    const other = await backend.record({}, bytes);
    const [view, download] = [await link("view"), await link("download")];
    const elsewhere = new Backend(await newApplication(server));
    const later = String(Number(/expires=(\d+)/.exec(view)?.[1]) + 1);
    for (const changed of [
      view.replace("/view", "/download"),
      download.replace("/download", "/view"),
      view.replace(/expires=\d+/, `expires=${later}`),
      view.replace("expires=", "expires=0"),
      view.replace("expires=", "expires=%2B"),
      view.replace(/expires=\d+/, "expires=1e10"),
      view.replace(made._id, other._id),
      view.replace(/&proof=.*/, ""),
      view.replace(/\?.*/, ""),
    ]) {
      const response = await backend.fetch(changed);
      expect([changed, response.status]).toEqual([changed, 403]);
      expect(((await response.json()) as { error: Json }).error.code).toBe("link_not_valid");
    }
    expect((await elsewhere.fetch(view)).status).toBe(403);
    // An unknown application gives the same response, so that links do not reveal which applications exist.
    const nowhere = await backend.fetch(view, { headers: { Host: `no-such-app.localhost` } });
    expect(nowhere.status).toBe(403);
  });

  test("that has expired is 403 with that reason", async () => {
    const url = await link("view", "?expiresInSec=1");
    expect((await backend.fetch(url)).status).toBe(200);
    const end = Number(/expires=(\d+)/.exec(url)?.[1]) * 1000;
    await Bun.sleep(Math.max(0, end - Date.now() + 20));
    const response = await backend.fetch(url);
    expect(response.status).toBe(403);
    expect(((await response.json()) as { error: Json }).error.code).toBe("link_expired");
  });

  test("of a deleted recording is 404", async () => {
    const url = await link("view");
    await backend.app.must("DELETE", `/recording/${made._id}`);
    const response = await backend.fetch(url);
    expect(response.status).toBe(404);
    expect(((await response.json()) as { error: Json }).error.code).toBe("recording_not_found");
  });

  test("uses the address that the client used, also behind a trusted proxy", async () => {
    await using behind = await startChecked({
      env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1", PARLEY_DOMAIN: "example.test" },
    });
    const { name, secretKey } = await behind.admin.createApp();
    const forwarded = { "X-Forwarded-Host": `${name}.example.test`, "X-Forwarded-Proto": "https" };
    const answer = await fetch(`${behind.url}/api/v1/room`, {
      method: "POST",
      headers: { ...forwarded, Authorization: `Bearer ${secretKey}` },
    });
    const { _id: room } = (await answer.json()) as Json;
    const begun = await fetch(`${behind.url}/api/v1/recording`, {
      method: "POST",
      headers: { ...forwarded, Authorization: `Bearer ${secretKey}` },
      body: JSON.stringify({ room, participantUsername: "ann", type: "video" }),
    });
    expect(String(((await begun.json()) as Json).uploadUrl)).toStartWith(`https://${name}.example.test/api/v1/upload/`);
  });
});

test("a player that pauses longer than the idle timeout resumes at its position", async () => {
  expect(await paused).toBe(true);
});
