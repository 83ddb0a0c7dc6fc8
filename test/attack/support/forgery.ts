/** A server, keys, and tokens that differ from a valid one in a single step. */
import { expect } from "bun:test";
import { serverForTests } from "../../support/for-tests.ts";
import { forge, nowSeconds } from "../../support/jwt.ts";

type Part = object | string | Uint8Array;

export async function forgeryForTests() {
  const server = await serverForTests({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  const { admin } = server;
  const app = await admin.createApp();
  const key = await admin.createKey(app._id, { channelPatterns: ["chat/*"], actions: ["publish", "subscribe"] });
  const publishableId = (await admin.createPublishable(app._id)).keyId;
  /** A key of another application. */
  const other = await admin.createKey((await admin.createApp())._id);

  const header = (fields: object = {}): object => ({ alg: "HS256", kid: key.keyId, typ: "JWT", ...fields });
  const claims = (fields: object = {}): object => ({ sub: "alice", exp: nowSeconds() + 600, ...fields });
  const signed = (head: Part, payload: Part): string => forge(head, payload, key.secret);
  const withHeader = (fields: object): string => signed(header(fields), claims());
  const withClaims = (fields: object): string => signed(header(), claims(fields));

  async function expectRefused(token: string, error: string): Promise<string> {
    const checked = await admin.check(token);
    expect(checked).toEqual({ valid: false, error, reason: expect.any(String) as string });
    return checked.reason ?? "";
  }
  const expectInvalid = (token: string): Promise<string> => expectRefused(token, "invalid_token");

  return {
    server,
    admin,
    key,
    other,
    publishableId,
    header,
    claims,
    signed,
    withHeader,
    withClaims,
    expectRefused,
    expectInvalid,
  };
}
