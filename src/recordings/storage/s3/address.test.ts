import { expect, test } from "bun:test";
import { parseS3Address } from "./address.ts";

const ENV = { AWS_ACCESS_KEY_ID: "from-env", AWS_SECRET_ACCESS_KEY: "secret-from-env", AWS_SESSION_TOKEN: "session" };

test("without an endpoint the bucket is a host of AWS; with one it is part of the path", () => {
  expect(parseS3Address("s3://bucket?region=eu-west-1", ENV)).toEqual({
    bucket: "bucket",
    prefix: "",
    origin: "https://bucket.s3.eu-west-1.amazonaws.com",
    root: "",
    region: "eu-west-1",
    accessKeyId: "from-env",
    secretAccessKey: "secret-from-env",
    sessionToken: "session",
  });
  expect(parseS3Address("s3://k:s%2F@bucket/a/b/?endpoint=http%3A%2F%2F127.0.0.1%3A9000%2Fs3", ENV)).toEqual({
    bucket: "bucket",
    prefix: "a/b/",
    origin: "http://127.0.0.1:9000",
    root: "/s3/bucket",
    region: "us-east-1",
    accessKeyId: "k",
    secretAccessKey: "s/",
    sessionToken: undefined,
  });
});

test.each([
  ["s3://", "it must have the form"],
  ["s3:bucket", "it must have the form"],
  ["s3://UPPER_case?region=x", "it must have the form"],
  ["https://bucket", "it must have the form"],
  ["s3://key:hush-hush@bucket?acl=public", "and nothing else"],
  ["s3://key:hush-hush@bucket?endpoint=ftp://host", "its endpoint must be an address"],
  ["s3://key:hush-hush@bucket?endpoint=http://a:b@host", "its endpoint must be an address"],
  ["s3://bucket", "it needs a credential"],
  ["s3://key@bucket", "it needs a credential"],
])("%s is refused, and its secret is not repeated", (text, message) => {
  expect(() => parseS3Address(text, {})).toThrow(message);
  try {
    parseS3Address(text, {});
  } catch (error) {
    expect(String(error)).not.toContain("hush-hush");
  }
});
