import { afterAll, expect, test } from "bun:test";
import { inspect } from "node:util";
import { StorageUnavailable } from "../storage.ts";
import { parseS3Address } from "./address.ts";
import { S3Client } from "./client.ts";

/** A bucket that answers each call with `head`, and closes the connection before its body is complete. */
let head = "";
let calls = 0;
const bucket = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    data(socket) {
      calls++;
      socket.end(`${head}\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n<Error>`);
    },
  },
});
afterAll(() => bucket.stop(true));

const client = (attemptsMax: number): S3Client => {
  const address = parseS3Address(`s3://some-key:some-secret@bucket?endpoint=http://127.0.0.1:${bucket.port}`, {});
  return new S3Client(address, Date.now, { responseMs: 5000, attemptsMax });
};

test.each<[string, string, (client: S3Client) => Promise<unknown>]>([
  ["bytes", "HTTP/1.1 206 Partial Content", (one) => one.get("a")],
  ["a text", "HTTP/1.1 200 OK", (one) => one.getText("a")],
  ["a refusal", "HTTP/1.1 503 Slow Down", (one) => one.getText("a")],
])(
  "an answer that breaks off is a failure of the storage, and does not quote the signed address: %s",
  async (_what, line, ask) => {
    head = line;
    const error = await ask(client(1)).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(StorageUnavailable);
    // Everything that a log could show of it.
    const shown = inspect(error, { showHidden: true, depth: 9 });
    expect(shown).not.toContain("X-Amz-");
    expect(shown).not.toContain("some-key");
  },
);

test("and the call is repeated, as if no answer had come", async () => {
  head = "HTTP/1.1 200 OK";
  calls = 0;
  await client(2)
    .getText("a")
    .catch(() => undefined);
  expect(calls).toBe(2);
});
