/** Signatures are compared with two other implementations: the example that AWS publishes, and Bun's own S3 client. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseS3Address, type S3Address } from "./address.ts";
import { type RequestToSign, signedUrl } from "./sign.ts";

const CREDENTIAL = "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI%2FK7MDENG%2FbPxRfiCYEXAMPLEKEY";

test("the example of AWS's documentation has the published signature", () => {
  const address: S3Address = {
    ...parseS3Address(`s3://${CREDENTIAL}@examplebucket`, {}),
    origin: "https://examplebucket.s3.amazonaws.com",
  };
  const url = signedUrl(address, { method: "GET", key: "test.txt", query: {}, seconds: 86400 }, Date.UTC(2013, 4, 24));
  expect(url).toBe(
    "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
  );
});

type Method = "GET" | "PUT" | "DELETE" | "HEAD";

/** Bun signs for the current time and has no parameter for it: its URL says which time that was. */
function presignedByBun(address: S3Address, request: RequestToSign): { url: URL; timeMs: number } {
  const { origin, root, bucket, region, accessKeyId, secretAccessKey, sessionToken } = address;
  const client = new Bun.S3Client({
    endpoint: origin,
    virtualHostedStyle: root === "",
    bucket,
    region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
  });
  const disposition = request.query["response-content-disposition"];
  const url = new URL(
    client.presign(request.key, {
      method: request.method as Method,
      expiresIn: request.seconds,
      ...(disposition !== undefined && { contentDisposition: disposition }),
    }),
  );
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(url.searchParams.get("X-Amz-Date") ?? "") ?? [];
  return { url, timeMs: Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) };
}

function expectSameAsBun(address: S3Address, request: RequestToSign): void {
  const { url: expected, timeMs } = presignedByBun(address, request);
  const ours = new URL(signedUrl(address, request, timeMs));
  expect([ours.origin, ours.pathname]).toEqual([expected.origin, expected.pathname]);
  expect([...ours.searchParams].sort()).toEqual([...expected.searchParams].sort());
}

describe("Bun's S3 client makes the same signature", () => {
  const path = parseS3Address(`s3://${CREDENTIAL}@bucket?region=eu-west-1&endpoint=http%3A%2F%2F127.0.0.1%3A9000`, {});
  const host = parseS3Address(`s3://${CREDENTIAL}@bucket?region=eu-central-1`, {});
  const session: S3Address = { ...path, sessionToken: "IQoJb3JpZ2lu/+==" };
  const key = "recordings/65f0c0ffee0000000000abcd/65f0c0ffee0000000000dcba";

  test.each<[string, S3Address, Method]>([
    ["by path", path, "GET"],
    ["by host", host, "GET"],
    ["with a session token", session, "GET"],
    ["for PUT", path, "PUT"],
    ["for HEAD", path, "HEAD"],
    ["for DELETE", host, "DELETE"],
  ])("%s", (_name, address, method) => {
    expectSameAsBun(address, { method, key, query: {}, seconds: 900 });
  });

  test("with a response header in the query", () => {
    const query = { "response-content-disposition": 'attachment; filename="a b+ü.webm"' };
    expectSameAsBun(path, { method: "GET", key, query, seconds: 600 });
  });

  test("for keys with any characters", () => {
    const character = fc.constantFrom(..."abcXYZ019-_.~!'()*+ü€ &=?#@:,;$%");
    const name = fc.array(character, { minLength: 1, maxLength: 20 }).map((all) => all.join(""));
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 3 }), (names) => {
        // A segment of dots alone is removed by URL parsers.
        fc.pre(names.every((one) => !/^\.+$/.test(one)));
        expectSameAsBun(path, { method: "GET", key: names.join("/"), query: {}, seconds: 900 });
      }),
    );
  });
});
