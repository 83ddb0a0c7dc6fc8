import { expect, test } from "bun:test";
import { Keyring } from "../access/keyring.ts";
import type { Operator } from "../access/operator.ts";
import { Throttle } from "../access/throttle.ts";
import { Vault } from "../access/vault.ts";
import { Call } from "./call.ts";
import { makeGuards } from "./guards.ts";

const ADMIN: Operator = { name: "admin", role: "admin", revoked: new AbortController().signal };

function setup() {
  const state = { token: "first-admin-token", nowMs: 0 };
  const now = (): number => state.nowMs;
  const wrongTries = new Throttle(10, 10 / 60, now);
  const guards = makeGuards({
    keyring: new Keyring(new Vault(Buffer.alloc(32))),
    nowMs: now,
    requests: new Throttle(0, 0, now),
    wrongTries,
    operators: {
      byToken: (token) => (token === state.token ? { operator: ADMIN, id: null } : undefined),
      bySession: () => undefined,
      adminOperator: ADMIN,
    },
    isOwnHost: () => true,
    hasDashboard: true,
  });
  return { state, guards, wrongTries };
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

test("the right token is admitted and authenticates the call, whatever was tried before", () => {
  const { guards } = setup();
  const attempt = (): string => {
    try {
      guards.admin.admit(callWith("wrong"));
      return "let in";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const tries = Array.from({ length: 30 }, attempt);
  expect(tries.filter((code) => code === "unauthorized")).toHaveLength(10);
  expect(tries.filter((code) => code === "rate_limited")).toHaveLength(20);
  const call = callWith("first-admin-token");
  guards.admin.admit(call);
  expect(call.isAuthenticated).toBe(true);
});
