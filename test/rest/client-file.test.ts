/** /client.js: parley-client as one module, for pages without a bundler. */
import { describe, expect, test } from "bun:test";
import { version } from "../../package.json" with { type: "json" };
import { serverForTests } from "../support/for-tests.ts";

const server = await serverForTests();
const address = `${server.url}/client.js`;

const get = (headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Response> =>
  fetch(address, { method, headers, decompress: false });

describe("/client.js", () => {
  test("is a module that pages of every origin may import", async () => {
    const { status, headers } = await get({ Origin: "https://elsewhere.example" });
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "access-control-allow-origin": "*",
      "cross-origin-resource-policy": "cross-origin",
      "x-content-type-options": "nosniff",
      "cache-control": "no-cache",
    });
  });

  test("has the core, the queue, history and state, and no import of its own", async () => {
    const text = await (await fetch(address)).text();
    const { exports, imports } = new Bun.Transpiler({ loader: "js" }).scan(text);
    expect(exports).toEqual(
      expect.arrayContaining(["Parley", "ParleyError", "OfflineQueue", "history", "messagesOf", "stateOf"]),
    );
    expect(imports).toEqual([]);
  });

  test("has the version of the service in its ETag, and answers 304 to who has it already", async () => {
    const response = await get();
    const etag = response.headers.get("etag") ?? "";
    expect(etag).toMatch(new RegExp(`^W/"${version.replaceAll(".", "\\.")}-[0-9a-f]{16}"$`));
    for (const known of [etag, etag.slice(2), `"other", ${etag}`, "*"]) {
      const repeated = await get({ "If-None-Match": known });
      expect([known, repeated.status, await repeated.text()]).toEqual([known, 304, ""]);
      expect(repeated.headers.get("etag")).toBe(etag);
      expect(repeated.headers.get("access-control-allow-origin")).toBe("*");
    }
    for (const other of ['"other"', `"${version}"`, ""])
      expect((await get({ "If-None-Match": other })).status).toBe(200);
  });

  test("is compressed for clients that say they can read that", async () => {
    const plain = await get({ "Accept-Encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    const refusing = await get({ "Accept-Encoding": "br, gzip;q=0" });
    expect(refusing.headers.get("content-encoding")).toBeNull();
    const gzip = await get({ "Accept-Encoding": "gzip, br" });
    expect(gzip.headers.get("content-encoding")).toBe("gzip");
    expect(gzip.headers.get("vary")).toBe("Accept-Encoding");
    const unpacked = Bun.gunzipSync(await gzip.arrayBuffer());
    expect(new TextDecoder().decode(unpacked)).toBe(await plain.text());
  });

  test("can only be read", async () => {
    const head = await get({}, "HEAD");
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const post = await get({}, "POST");
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET"]);
  });
});
