/** Server frames that tests expect. */
import { expect } from "bun:test";
import type { Frame } from "../../../support/wire/shapes.ts";

export const errorFrame = (code: string, requestId?: string): Frame<"error"> => ({
  type: "error",
  ...(requestId !== undefined && { requestId }),
  code,
  message: expect.any(String) as unknown as string,
});

/** A key or a token that was narrowed has ended a subscription. */
export const revoked = (): Frame<"error"> => ({
  ...errorFrame("channel_not_authorized"),
  channel: expect.any(String) as unknown as string,
});

export const presenceChange = (channel: string, joined: object[], left: object[]): Frame<"presence"> =>
  ({ type: "presence", channel, joined, left }) as Frame<"presence">;

export const leaveOf = (channel: string, peerId: string): Frame<"presence"> =>
  presenceChange(channel, [], [{ peerId }]);
