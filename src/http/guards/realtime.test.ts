import { expect, test } from "bun:test";
import { Keyring } from "../../access/keys/keyring.ts";
import { Vault } from "../../access/keys/vault.ts";
import { GUESS_WAIT_MAX_MS, GUESSES_PER_SECOND } from "../../access/limits.ts";
import type { Operator } from "../../access/operators/operator.ts";
import { Throttle } from "../../base/throttle.ts";
import { Call } from "../request/call.ts";
import { GuessPace } from "./guess-pace.ts";
import { makeGuards } from "./realtime.ts";

const ADMIN: Operator = { name: "admin", role: "admin", revoked: new AbortController().signal };

function setup() {
  const state = { token: "first-admin-token", nowMs: 0 };
  const now = (): number => state.nowMs;
  const clock: { at: number; callback: () => void }[] = [];
  const pass = (ms: number): void => {
    state.nowMs += ms;
    for (const one of clock.splice(0))
      if (one.at <= state.nowMs) one.callback();
      else clock.push(one);
  };
  const wrongTries = new Throttle(10, 10 / 60, now);
  const guards = makeGuards({
    keyring: new Keyring(new Vault(Buffer.alloc(32))),
    nowMs: now,
    requests: new Throttle(0, 0, now),
    wrongTries,
    guesses: new GuessPace({
      monotonicMs: now,
      after: (ms, callback) => clock.push({ at: state.nowMs + ms, callback }),
    }),
    operators: {
      byToken: (token) => (token === state.token ? { operator: ADMIN, id: null } : undefined),
      bySession: () => undefined,
      adminOperator: ADMIN,
    },
    isOwnHost: () => true,
    hasDashboard: true,
  });
  return { guards, pass, state, wrongTries };
}

const callWith = (token: string): Call =>
  new Call(
    new Request("http://localhost/", { headers: { Authorization: `Bearer ${token}` } }),
    { address: () => "192.0.2.1", setIdleSeconds: () => undefined },
    { trustedProxies: [], domain: "localhost" },
    {},
  );

test("an admin token that was replaced while the body arrived is refused, and does not count as a wrong try", () => {
  const { state, guards, wrongTries } = setup();
  const call = callWith("first-admin-token");
  guards.admin.admit(call);
  guards.admin.recheck(call);
  state.token = "second-admin-token";
  expect(() => guards.admin.recheck(call)).toThrow("This is neither the admin token nor");
  expect(wrongTries.size).toBe(0);
});

test("tokens of an address with too many wrong tries are checked at a bounded speed, and the right one passes", async () => {
  const { guards, pass, state } = setup();
  const checked = { count: 0 };
  const attempt = async (): Promise<string> => {
    try {
      await guards.admin.admit(callWith("wrong"));
      return "let in";
    } catch (error) {
      checked.count++;
      return (error as { code: string }).code;
    }
  };
  const tries = Array.from({ length: 300 }, attempt);
  await Promise.resolve();
  // Ten are wrong, 40 wait, and the others are refused without a check.
  const waiting = GUESSES_PER_SECOND * (GUESS_WAIT_MAX_MS / 1000);
  expect(checked.count).toBe(300 - waiting);
  expect(() => guards.admin.admit(callWith("first-admin-token"))).toThrow();
  // In the form that the service makes, no token waits.
  state.token = `parley_admin_${"r".repeat(48)}`;
  expect(guards.admin.admit(callWith(state.token))).toBe(ADMIN);
  pass(GUESS_WAIT_MAX_MS);
  const codes = await Promise.all(tries);
  expect(codes.filter((code) => code === "unauthorized")).toHaveLength(10);
  expect(codes.filter((code) => code === "rate_limited")).toHaveLength(290);
  state.token = "first-admin-token";
  const call = callWith(state.token);
  const admitted = guards.admin.admit(call);
  expect(call.isAuthenticated).toBe(false);
  pass(1000 / GUESSES_PER_SECOND);
  expect(await admitted).toBe(ADMIN);
  expect(call.isAuthenticated).toBe(true);
});
