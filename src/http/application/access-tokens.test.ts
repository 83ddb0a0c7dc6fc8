import { expect, test } from "bun:test";
import type { AccessTokenRequest, AccessTokens } from "../../rooms/access-token.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import { run } from "../testing/calls.ts";
import { accessTokenEndpoints } from "./access-tokens.ts";

/** The room that a token is minted for. */
async function roomIn(roomURL: string): Promise<string | undefined> {
  let minted: AccessTokenRequest | undefined;
  const tokens = {
    mint: async (_holder: unknown, request: AccessTokenRequest) => {
      minted = request;
      return "token";
    },
  };
  const guard = { security: "application", admit: () => ({}), recheck: () => ({}) };
  const guards = { minting: guard, open: guard };
  const endpoints = accessTokenEndpoints(guards as unknown as ApplicationGuards, tokens as unknown as AccessTokens);
  await run(endpoints, { method: "POST", path: "/api/v1/token", body: { roomURL } });
  return minted?.roomName;
}

test("the room of a URL is the last segment of its path that is not empty", async () => {
  for (const url of ["https://a/b/one", "a/one/", "https://a/b/one///", "one", "/one?x=/two/", "https://a//one#/two"])
    expect(await roomIn(url)).toBe("one");
  for (const url of ["", "/", "///", "https://a", "https://a/?one", "https://a/o ne"])
    await expect(roomIn(url)).rejects.toMatchObject({ code: "invalid_request" });
});

test("a run of slashes is read in linear time: others wait meanwhile", async () => {
  const start = performance.now();
  await expect(roomIn(`${"/".repeat(40_000)} `)).rejects.toMatchObject({ code: "invalid_request" });
  expect(performance.now() - start).toBeLessThan(3000);
});
