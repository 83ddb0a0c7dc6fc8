import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { TOKEN_CHANNELS_MAX, TOKEN_METADATA_MAX_BYTES, TOKEN_PEER_METADATA_MAX_BYTES } from "../../access/limits.ts";
import { REQUEST_HEAD_MAX_BYTES } from "../../protocol/limits.ts";
import { LONG_HEAD_CONNECTIONS_MAX, REQUEST_HEAD_SHORT_BYTES } from "../limits.ts";
import { countOpenFiles, HeadLimit } from "./head-limit.ts";

test("request heads must be short while more than LONG_HEAD_CONNECTIONS_MAX connections are no WebSockets", () => {
  let [openFiles, webSockets] = [0, 0];
  const set: number[] = [];
  const limit = new HeadLimit({
    openFiles: () => openFiles,
    webSockets: () => webSockets,
    set: (bytes) => set.push(bytes),
    guarded: (callback) => callback,
  });
  const check = (files: number, sockets: number): void => {
    [openFiles, webSockets] = [files, sockets];
    limit.check();
  };
  check(LONG_HEAD_CONNECTIONS_MAX, 0);
  check(100_000, 99_500);
  expect(set).toEqual([]);
  check(LONG_HEAD_CONNECTIONS_MAX + 1, 0);
  check(Number.POSITIVE_INFINITY, 50_000);
  expect(set).toEqual([REQUEST_HEAD_SHORT_BYTES]);
  check(50_100, 50_000);
  expect(set).toEqual([REQUEST_HEAD_SHORT_BYTES, REQUEST_HEAD_MAX_BYTES]);
  expect(limit.bytes).toBe(REQUEST_HEAD_MAX_BYTES);
});

test("open files are counted", () => {
  const before = countOpenFiles();
  const files = Array.from({ length: 100 }, () => openSync("/dev/null", "r"));
  const counted = countOpenFiles() - before;
  for (const file of files) closeSync(file);
  expect(counted).toBeGreaterThanOrEqual(95);
  expect(counted).toBeLessThanOrEqual(105);
});

test("the longest legal token fits into a head, with space for the other headers", () => {
  const claims = {
    sub: '"'.repeat(128),
    // The worst case: two bytes in UTF-8, six as an escape in ASCII-only JSON.
    channels: Array.from({ length: TOKEN_CHANNELS_MAX }, () => "é".repeat(128)),
    permissions: Array.from({ length: 16 }, () => "subscribe"),
    iat: 1.7e9 + 0.123456,
    exp: 1.7e9 + 0.123456,
    nbf: 1.7e9 + 0.123456,
  };
  const json = JSON.stringify(claims).replaceAll("é", "\\u00e9");
  const metadataBytes =
    TOKEN_METADATA_MAX_BYTES + TOKEN_PEER_METADATA_MAX_BYTES + '"metadata":,"peerMetadata":,'.length;
  const header = JSON.stringify({ alg: "HS256", typ: "JWT", kid: "k".repeat(40) });
  const token = ((json.length + metadataBytes + header.length) * 4) / 3 + 50;
  expect(token).toBeLessThan(REQUEST_HEAD_MAX_BYTES - 8 * 1024);
});
