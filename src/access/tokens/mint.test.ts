import { expect, test } from "bun:test";
import type { Credential } from "../keys/credential.ts";
import { TOKEN_CONNECT_MARGIN_MS, TOKEN_DEFAULT_SECONDS, TOKEN_MAX_SECONDS } from "../limits.ts";
import { GRACE_ENDS, KEY, keyring, NOW, NOW_S, SEALED_KEY, verdict } from "../testing/tokens.ts";
import { type MintRequest, mintToken } from "./mint.ts";

/** The newest secret of a key, or one of its previous ones. */
function credential(id = KEY, index = 0): Credential {
  const key = keyring.key(id);
  if (!key || key.type === "publishable") throw new Error("the test needs a secret key");
  return { key, secret: key.secrets[index] } as Credential;
}

const rate = { debt: () => 0, charge: () => {} };
const mint = (more: Partial<MintRequest> = {}, holder = credential(), nowMs = NOW) =>
  mintToken(
    holder,
    {
      peerId: "alice",
      channels: undefined,
      permissions: undefined,
      expiresInSec: undefined,
      raw: { metadata: undefined, peerMetadata: undefined },
      ...more,
    },
    rate,
    nowMs,
  );

test("what is not asked for is what the key has, for an hour", () => {
  const minted = mint();
  expect(minted).toMatchObject({
    expiresAt: NOW_S + TOKEN_DEFAULT_SECONDS + 1,
    channels: ["chat/*", "news"],
    permissions: ["publish", "subscribe", "presence"],
  });
  expect(verdict(minted.token)).toBe("ok");
});

test("the expiry is rounded up, and the shortest token can still be used for a connect", () => {
  expect(mint({ expiresInSec: 60 }).expiresAt).toBe(NOW_S + 61);
  expect(mint({ expiresInSec: 60 }, credential(), NOW_S * 1000).expiresAt).toBe(NOW_S + 60);
  const shortest = mint({ expiresInSec: 1 });
  expect(shortest.expiresAt).toBe(NOW_S + 2);
  expect(verdict(shortest.token, NOW + 500)).toBe("ok");
});

test("no token is good for more than a day after it was issued", () => {
  expect(mint({ expiresInSec: TOKEN_MAX_SECONDS }).expiresAt).toBe(NOW_S + TOKEN_MAX_SECONDS);
});

test("a previous secret signs no further than its grace period: more is refused, the default is shortened", () => {
  const previous = credential(KEY, 1);
  expect(mint({}, previous).expiresAt).toBe(Math.floor(GRACE_ENDS / 1000));
  expect(mint({ expiresInSec: 5 }, previous).expiresAt).toBe(NOW_S + 6);
  expect(() => mint({ expiresInSec: 11 }, previous)).toThrow("this secret was rotated and expires in 10 s");
});

test("a previous secret mints no token that would be too short for a connect", () => {
  const previous = credential(KEY, 1);
  const nearEnd = Array.from({ length: 60 }, (_, i) => GRACE_ENDS - 50 * (i + 1));
  const minted: string[] = [];
  for (const nowMs of nearEnd) {
    try {
      const { token } = mint({}, previous, nowMs);
      minted.push(`${verdict(token, nowMs + TOKEN_CONNECT_MARGIN_MS)} ${GRACE_ENDS - nowMs} ms before the end`);
    } catch (error) {
      expect(String(error)).toContain("this secret was rotated and expires in");
    }
  }
  expect(minted.filter((one) => !one.startsWith("ok"))).toEqual([]);
  expect(minted).toContain("ok 2000 ms before the end");
});

test("channels and permissions must be within the key's, and a refusal gives the position, not the value", () => {
  expect(mint({ channels: ["chat/a"], permissions: ["publish"] })).toMatchObject({
    channels: ["chat/a"],
    permissions: ["publish"],
  });
  expect(() => mint({ channels: ["news", "private"] })).toThrow("channels.1: the key does not cover it.");
  expect(() => mint({ channels: ["_system/x"] })).toThrow("channels.0: this name is reserved for the service.");
  expect(() => mint({ permissions: ["publish", "fly"] })).toThrow("permissions.1: not an action");
  expect(() => mint({ permissions: ["send"] })).toThrow("permissions.0: the key does not permit it.");
});

test("a key whose secret cannot be decrypted mints nothing", () => {
  expect(() => mint({}, credential(SEALED_KEY))).toThrow("The key has no usable signing secret right now.");
});
