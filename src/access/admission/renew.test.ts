import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { KEY, keyring, NOW, NOW_S, OTHER_KEY, SEALED_KEY, SECRETS, type TokenParts, token } from "../testing/tokens.ts";
import { Refusal } from "./admit.ts";
import { Blocks } from "./blocks.ts";
import { OTHER_PEER, renew } from "./renew.ts";

const ALICE = { spaceId: anAppId("app"), peerId: "alice" };

function renewed(parts: TokenParts, blocks = new Blocks(), identity = ALICE) {
  return renew(token(parts), identity, { keyring, blocks, keyRate: { debt: () => 0, charge: () => {} } }, NOW);
}

const verdict = (...args: Parameters<typeof renewed>): string => {
  const result = renewed(...args);
  return result instanceof Refusal ? result.code : "ok";
};

describe("a token that replaces the one of a connection", () => {
  test("gives what a connect with it would give", () => {
    const grant = renewed({ claims: { channels: ["news"], peerMetadata: { n: 1 }, exp: NOW_S + 60 } });
    expect(grant).toMatchObject({
      ...ALICE,
      key: { id: KEY },
      secretSeq: 3,
      expiresAtMs: (NOW_S + 60) * 1000,
      peerMetadataJson: '{"n":1}',
    });
  });

  test("is refused with the code of a connect", () => {
    expect(verdict({ claims: { exp: NOW_S - 1 } })).toBe("token_expired");
    expect(verdict({ secret: SECRETS.retired })).toBe("token_expired");
    expect(verdict({ secret: "another" })).toBe("invalid_token");
    expect(verdict({ claims: { channels: ["elsewhere"] } })).toBe("invalid_token");
    expect(verdict({ header: { kid: SEALED_KEY } })).toBe("internal_error");
  });

  test("is of the same peer and the same application, and which of them differs is not said", () => {
    const refusals = [
      renewed({ claims: { sub: "bob" } }),
      renewed({ header: { kid: OTHER_KEY }, secret: SECRETS.other }),
      renewed({}, new Blocks(), { spaceId: anAppId("other app"), peerId: "alice" }),
    ];
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: "invalid_token", reason: OTHER_PEER });
  });

  test("is not valid for a peer that is blocked", () => {
    const blocks = new Blocks();
    blocks.add({ app: anAppId("app"), peerId: "alice", untilMs: NOW + 1000 });
    expect(verdict({}, blocks)).toBe("invalid_token");
    blocks.add({ app: anAppId("app"), peerId: "alice", untilMs: NOW - 1000 });
    expect(verdict({}, blocks)).toBe("ok");
  });
});
