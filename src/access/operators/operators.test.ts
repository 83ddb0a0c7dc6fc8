import { expect, test } from "bun:test";
import { openStore } from "../../store/open.ts";
import { newFolders } from "../../store/testing/places.ts";
import { Keyring } from "../keys/keyring.ts";
import { digestOf, Vault } from "../keys/vault.ts";
import { SESSION_SECONDS, SESSIONS_PER_OPERATOR_MAX } from "../limits.ts";
import { Operators } from "./operators.ts";

const newFolder = newFolders();
const TOKEN = "the-admin-token-of-the-test";

/** Two nodes on one store; the second reads what the first has changed when `follow` is called. */
async function setup() {
  const store = await openStore(newFolder());
  const state = { nowMs: 1_800_000_000_000, admin: digestOf(TOKEN), touched: 0 };
  const vault = new Vault(Buffer.alloc(32));
  const make = (): Operators =>
    new Operators({
      store: new Proxy(store, {
        get: (target, name) => {
          if (name === "touchOperator") state.touched++;
          const value: unknown = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
      keyring: new Keyring(vault),
      vault,
      nowMs: () => state.nowMs,
      failed: (error) => {
        throw error;
      },
    });
  const [one, other] = [make(), make()];
  const follow = async (): Promise<void> => {
    const snapshot = await store.snapshot();
    for (const node of [one, other]) node.load(snapshot, state.admin);
  };
  await follow();
  const holder = (token = TOKEN) => {
    const found = one.byToken(token);
    if (!found) throw new Error("the token is not known");
    return found;
  };
  return { store, state, one, other, follow, holder, [Symbol.asyncDispose]: () => store.close() };
}

test("a sign-out, a revocation and another admin token end streams on every node", async () => {
  await using world = await setup();
  const { one, other, follow, holder, state } = world;
  const { row, token } = await one.create("ann", "read");
  const [out, revoked, admin] = [
    await one.signIn(holder()),
    await one.signIn(holder(token)),
    await one.signIn(holder()),
  ];
  await follow();
  const signals = (secret: string): AbortSignal[] =>
    [one, other].map((node) => {
      const session = node.bySession(secret);
      if (!session) throw new Error("the session is not known");
      return session.operator.revoked;
    });
  const [ofOut, ofRevoked, ofAdmin] = [signals(out.secret), signals(revoked.secret), signals(admin.secret)];
  const bearers = [one, other].flatMap((node) => [node.byToken(token), node.byToken(TOKEN)]);
  const areAborted = (all: readonly (AbortSignal | undefined)[]): boolean[] => all.map((one) => one?.aborted ?? false);

  await one.signOut(out.secret);
  expect(areAborted(ofOut)).toEqual([true, false]);
  await follow();
  expect(areAborted([...ofOut, ...ofRevoked, ...ofAdmin])).toEqual([true, true, false, false, false, false]);

  await one.revoke(row.id);
  await follow();
  expect(areAborted([...ofRevoked, ...ofAdmin])).toEqual([true, true, false, false]);

  state.admin = digestOf("another-admin-token");
  await follow();
  expect(areAborted(ofAdmin)).toEqual([true, true]);
  expect(areAborted(bearers.map((holder) => holder?.operator.revoked))).toEqual([true, true, true, true]);
  expect([one.byToken(TOKEN), one.bySession(admin.secret), other.bySession(admin.secret)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  // Back to the token that the session was made with: it holds, as it would on a node that was started with it.
  state.admin = digestOf(TOKEN);
  await follow();
  expect(one.bySession(admin.secret)?.operator.name).toBe("admin");
});

test("a session ends at its time, and with it what it has opened", async () => {
  await using world = await setup();
  const { one, holder, state } = world;
  const { secret } = await one.signIn(holder());
  const signal = one.bySession(secret)?.operator.revoked;
  state.nowMs += SESSION_SECONDS * 1000 - 1;
  one.endExpired();
  expect([one.bySession(secret)?.operator.name, signal?.aborted]).toEqual(["admin", false]);
  state.nowMs += 1;
  expect(one.bySession(secret)).toBeUndefined();
  one.endExpired();
  expect([signal?.aborted, one.sessionCount]).toEqual([true, 0]);
  // The next sign-in removes it from the store.
  await one.signIn(holder());
  expect(await world.store.sessions()).toHaveLength(1);
});

test("beyond the number of sessions of one operator the oldest ends; those of others stay", async () => {
  await using world = await setup();
  const { one, holder, state } = world;
  const { token } = await one.create("ann", "read");
  const ann = await one.signIn(holder(token));
  const secrets: string[] = [];
  for (let i = 0; i <= SESSIONS_PER_OPERATOR_MAX; i++) {
    state.nowMs++;
    secrets.push((await one.signIn(holder())).secret);
  }
  expect(one.bySession(secrets[0] ?? "")).toBeUndefined();
  expect(secrets.slice(1).every((secret) => one.bySession(secret))).toBe(true);
  expect(one.bySession(ann.secret)?.operator.name).toBe("ann");
  expect(one.sessionCount).toBe(SESSIONS_PER_OPERATOR_MAX + 1);
});

test("a revoked operator cannot sign in on a node that does not know of it yet", async () => {
  await using world = await setup();
  const { one, other, follow } = world;
  const { row, token } = await one.create("ann", "admin");
  await follow();
  const stale = other.byToken(token);
  await one.revoke(row.id);
  if (!stale) throw new Error("the token is not known");
  await expect(other.signIn(stale)).rejects.toThrow();
  expect(await world.store.sessions()).toEqual([]);
});

test("the time of last use is written at most once a minute", async () => {
  await using world = await setup();
  const { one, state } = world;
  const { token } = await one.create("ann", "read");
  for (let i = 0; i < 10; i++) one.byToken(token);
  expect(state.touched).toBe(1);
  state.nowMs += 60_000;
  for (let i = 0; i < 10; i++) one.byToken(token);
  expect(state.touched).toBe(2);
});

test("neither tokens nor cookies are in the store, only digests; the admin token not even as its digest", async () => {
  await using world = await setup();
  const { one, holder, store } = world;
  const { token } = await one.create("ann", "read");
  const { secret } = await one.signIn(holder());
  const kept = JSON.stringify([await store.operators(), await store.sessions()]);
  for (const hidden of [token, secret, TOKEN, digestOf(TOKEN)]) expect(kept).not.toContain(hidden);
});
