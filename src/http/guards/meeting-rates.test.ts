import { beforeEach, expect, test } from "bun:test";
import { Throttle } from "../../base/throttle.ts";
import { MEETING_CALLS_PER_MINUTE_PER_CALLER, MEETING_CALLS_PER_MINUTE_PER_TOKEN } from "../limits.ts";
import { Call } from "../request/call.ts";
import { UnauthenticatedLimit } from "../server/unauthenticated-limit.ts";
import { MeetingRates } from "./meeting-rates.ts";

const now = (): number => 0;
let rates: MeetingRates;
beforeEach(() => {
  const unauthenticated = new UnauthenticatedLimit(new Throttle(0, 0, now));
  rates = new MeetingRates("join", (_name, burst, perSecond) => new Throttle(burst, perSecond, now), unauthenticated);
});

const callFrom = (address: string): Call =>
  new Call(
    new Request("http://localhost/"),
    { address: () => address, setIdleSeconds: () => undefined },
    { trustedProxies: [], domain: "localhost" },
    {},
  );

/** How many calls with this access token are accepted. */
function accepted(count: number, from: (n: number) => string, token = "shared"): number {
  let done = 0;
  for (let n = 0; n < count; n++)
    try {
      rates.budgetOf(callFrom(from(n))).token(token);
      done++;
    } catch (error) {
      expect(error).toMatchObject({ code: "rate_limited" });
    }
  return done;
}

test("one holder of a shared access token uses up nothing of what the others have", () => {
  const flood = 3 * MEETING_CALLS_PER_MINUTE_PER_TOKEN;
  expect(accepted(flood, () => "192.0.2.1")).toBe(MEETING_CALLS_PER_MINUTE_PER_CALLER);
  expect(accepted(flood, (n) => `2001:db8:1:${(n % 1000).toString(16)}::1`)).toBe(MEETING_CALLS_PER_MINUTE_PER_CALLER);
  expect(accepted(5, () => "192.0.2.2")).toBe(5);
  expect(accepted(5, () => "2001:db8:2::1")).toBe(5);
  expect(accepted(5, () => "192.0.2.1", "another")).toBe(5);
});

test("an access token has a rate at all addresses together", () => {
  const flood = 2 * MEETING_CALLS_PER_MINUTE_PER_TOKEN;
  expect(accepted(flood, (n) => `192.0.2.${n % 200}`)).toBe(MEETING_CALLS_PER_MINUTE_PER_TOKEN);
  expect(accepted(5, () => "192.0.2.250")).toBe(0);
  expect(accepted(5, () => "192.0.2.250", "another")).toBe(5);
});
