import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { Vault } from "../../access/keys/vault.ts";
import { type EventSession, EventSessionNames } from "../../access/tokens/event-session.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { NodeRequests } from "../../engine/node-requests.ts";
import { EventForwards } from "./event-forwards.ts";
import { FORWARD_MS } from "./limits.ts";
import type { EventPost, PostResult } from "./posts.ts";

const names = new EventSessionNames(new Vault(randomBytes(32)));

/** Two nodes whose notifications the test can lose, or write itself. */
class Pair {
  readonly clock = new FakeClock();
  readonly taken: EventPost[] = [];
  readonly sent: string[] = [];
  isLossy = false;
  isGone = false;
  result: PostResult = { kind: "taken" };
  readonly a = this.requestsOf("a", () => this.b);
  readonly b: NodeRequests = this.requestsOf("b", () => this.a);
  readonly forwards = this.forwardsOf(this.a);
  readonly session = sessionOf("b");

  constructor() {
    this.forwardsOf(this.b);
  }

  private requestsOf(self: string, other: () => NodeRequests): NodeRequests {
    return new NodeRequests(
      {
        request: async () => ({ responses: new Map(), isComplete: true }),
        knows: (node) => node !== self && ["a", "b"].includes(node) && !this.isGone,
        notify: (_node, text) => {
          this.sent.push(text);
          if (!this.isLossy) queueMicrotask(() => other().notified(self, text));
        },
      },
      self,
    );
  }

  private forwardsOf(nodeRequests: NodeRequests): EventForwards {
    const take = (_session: EventSession, post: EventPost): PostResult => {
      this.taken.push(post);
      return this.result;
    };
    return new EventForwards({ nodeRequests, sessions: { take }, names, clock: this.clock });
  }

  take(post: Partial<EventPost> = {}): Promise<PostResult> {
    return this.forwards.take(this.session, async () => ({ ...POST, ...post }));
  }
}

function sessionOf(node: string): EventSession {
  const session = names.read(names.make(node, 7));
  if (!session) throw new Error("it is not valid");
  return session;
}

const POST: EventPost = {
  n: 3,
  origin: "https://a.example",
  isSameOrigin: false,
  body: '{"type":"ping"}',
  isBye: false,
};

const turn = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

describe("a POST for a connection of another node", () => {
  test("is taken there as it came, and answered by its receipt", async () => {
    const pair = new Pair();
    const body = `{"text":"€ \u0001 \\" '"}\n{}`;
    expect([pair.forwards.isHere(pair.session), await pair.forwards.isThere(pair.session)]).toEqual([false, true]);
    expect(await pair.take({ body, isBye: true })).toEqual({ kind: "taken" });
    expect(pair.taken).toEqual([{ ...POST, body, isBye: true }]);
  });

  test.each([{ kind: "gap", expected: 9 }, { kind: "gone" }, { kind: "origin" }] as const)(
    "is answered with what became of it: %j",
    async (result) => {
      const pair = new Pair();
      pair.result = result;
      expect(await pair.take()).toEqual(result);
    },
  );

  test("is busy without a receipt in time, and a late one changes nothing", async () => {
    const pair = new Pair();
    pair.isLossy = true;
    const answer = pair.take();
    await turn();
    pair.clock.advance(FORWARD_MS);
    expect(await answer).toEqual({ kind: "busy" });
    pair.isLossy = false;
    const next = pair.take();
    pair.a.notified("b", JSON.stringify({ name: "events: receipt", payload: { number: 1, kind: "gone" } }));
    expect(await next).toEqual({ kind: "taken" });
  });

  test("is answered by the node that it went to, and by no other", async () => {
    const pair = new Pair();
    pair.isLossy = true;
    const answer = pair.take();
    await turn();
    const receipt = (payload: unknown): string => JSON.stringify({ name: "events: receipt", payload });
    pair.a.notified("mallory", receipt({ number: 1, kind: "gone" }));
    for (const payload of [
      null,
      1,
      {},
      { number: "1", kind: "taken" },
      { number: 1, kind: "x" },
      { number: 1, kind: "gap" },
    ])
      pair.a.notified("b", receipt(payload));
    pair.a.notified("b", receipt({ number: 1, kind: "gap", expected: 2 }));
    expect(await answer).toEqual({ kind: "gap", expected: 2 });
  });

  test("is the only one of its connection", async () => {
    const pair = new Pair();
    const both = [pair.take(), pair.take()];
    expect(await Promise.all(both)).toEqual([{ kind: "taken" }, { kind: "busy" }]);
    expect(await pair.take()).toEqual({ kind: "taken" });
    const failing = pair.forwards.take(pair.session, () => Promise.reject(new Error("its client is gone")));
    expect(await failing.catch(({ message }) => message)).toBe("its client is gone");
    expect(await pair.take()).toEqual({ kind: "taken" });
  });

  test("of a node that is not there any more is gone at once", async () => {
    const pair = new Pair();
    pair.isGone = true;
    expect([await pair.forwards.isThere(pair.session), await pair.take()]).toEqual([false, { kind: "gone" }]);
    expect(pair.sent).toEqual([]);
  });

  test("is not taken if its session is forged, and anything else is dropped", async () => {
    const pair = new Pair();
    await pair.take();
    const { payload } = JSON.parse(pair.sent[0] ?? "{}");
    const post = (changed: object): void =>
      pair.b.notified("a", JSON.stringify({ name: "events: post", payload: { ...payload, ...changed } }));
    for (const changed of [
      { n: 0 },
      { n: "1" },
      { body: 1 },
      { origin: 1 },
      { isBye: "x" },
      { isSameOrigin: null },
      { number: -1 },
    ])
      post(changed);
    post({ body: Buffer.alloc(300_000).toString("base64") });
    await turn();
    expect([pair.taken.length, pair.sent.length]).toEqual([1, 2]);
    post({ session: payload.session.replace(/.$/, "_") });
    await turn();
    expect(pair.taken).toHaveLength(1);
    expect(pair.sent[2]).toContain('"kind":"gone"');
  });
});
