/** What `renew` frames cost their connection and its address, and those that wait for the store. */
import { describe, expect, test } from "bun:test";
import { oddGraph } from "../../testing/odd-graph.ts";
import { type Client, SECOND_KEY, SECRET_KEY, turn, World } from "../testing/kit.ts";

const LIMITED = { framesPerSecond: 100, framesBurst: 500 };

const renew = (client: Client, token: string): void => void client.request({ type: "renew", token });
const codes = (client: Client): string[] => client.take().map(({ type, code }) => code ?? type);

describe("the rate of renewals", () => {
  test("is one per second with bursts of five; more are refused, and the connection goes on", () => {
    const world = new World({ rates: LIMITED });
    const ann = world.connect("ann");
    for (let i = 0; i < 7; i++) renew(ann, world.keys.token("ann"));
    expect(codes(ann)).toEqual([...new Array(5).fill("ack"), "rate_limited", "rate_limited"]);
    world.advance(1000);
    for (let i = 0; i < 2; i++) renew(ann, "x");
    expect(codes(ann)).toEqual(["invalid_token", "rate_limited"]);
    expect(ann.closeCode).toBeUndefined();
  });

  test("a renewal counts as a connect of its address, a refused one as ten", () => {
    const world = new World({ connectsPerMinute: 12 });
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    renew(ann, world.keys.token("ann"));
    renew(ann, "x");
    renew(ben, world.keys.token("ben"));
    renew(ben, world.keys.token("ben"));
    expect([codes(ann), codes(ben)]).toEqual([
      ["ack", "invalid_token"],
      ["ack", "rate_limited"],
    ]);
    world.advance(5000);
    renew(ben, world.keys.token("ben"));
    expect(codes(ben)).toEqual(["ack"]);
  });

  test("a frame without a token costs no connect", () => {
    const world = new World({ connectsPerMinute: 1 });
    const ann = world.connect("ann");
    for (let i = 0; i < 3; i++) ann.request({ type: "renew" });
    renew(ann, world.keys.token("ann"));
    expect(codes(ann)).toEqual([...new Array(3).fill("malformed_message"), "ack"]);
  });
});

describe("a token that another node's change may have made good", () => {
  /** A world whose store answers when the test says so. */
  function behind(connectsPerMinute = 0) {
    const latest = Promise.withResolvers<boolean>();
    const world = new World({ connectsPerMinute, storeFollower: { catchUp: () => latest.promise } });
    // Narrowed here already, widened again on the other node: this node does not know that yet.
    world.keys.editKey(SECOND_KEY, { channelPatterns: ["a"] });
    const ann = world.join("ann", "c");
    const widen = (): void => world.keys.editKey(SECOND_KEY, { channelPatterns: ["**"] });
    const answer = async (isKnown: boolean): Promise<void> => {
      latest.resolve(isKnown);
      await turn();
    };
    renew(ann, world.keys.token("ann", { key: SECOND_KEY, channels: ["b"] }));
    return { world, ann, widen, answer };
  }

  test("waits for the store; frames that come meanwhile are handled under the old token", async () => {
    const { ann, widen, answer } = behind();
    ann.publish("c", 1);
    ann.publish("b", 1);
    expect(codes(ann)).toEqual(["ack", "ack"]);
    widen();
    await answer(true);
    expect(ann.newFrames()).toEqual(["error channel_not_authorized", "ack r2"]);
    ann.publish("c", 2);
    expect(codes(ann)).toEqual(["channel_not_authorized"]);
    expect(ann.connection.keyId).toBe(SECOND_KEY);
  });

  test("is checked and charged once if the store has nothing new, and its cost does not refuse it", async () => {
    const costly = oddGraph(24);
    for (const isKeyNew of [false, true]) {
      const latest = Promise.withResolvers<boolean>();
      const world = new World({ connectsPerMinute: 600, storeFollower: { catchUp: () => latest.promise } });
      const limit = (patterns: readonly string[]): void =>
        world.keys.editKey(SECOND_KEY, { channelPatterns: [...patterns] });
      limit(costly.patterns);
      const ann = world.join("ann", "c");
      const token = (): string => world.keys.token("ann", { key: SECOND_KEY, channels: [costly.part] });
      renew(ann, token());
      if (isKeyNew) limit([...costly.patterns, "elsewhere"]);
      latest.resolve(true);
      await turn();
      expect(codes(ann)).toEqual(["invalid_token"]);
      // Each costs 200 connects, and ten for the refusal: the third one is the last.
      for (let i = 0; i < 3; i++) {
        world.advance(1000);
        renew(ann, token());
        await turn();
      }
      expect(codes(ann)).toEqual(["invalid_token", "invalid_token", "rate_limited"]);
    }
  });

  test("is the only one at a time", async () => {
    const { world, ann, widen, answer } = behind();
    renew(ann, world.keys.token("ann"));
    expect(codes(ann)).toEqual(["rate_limited"]);
    widen();
    await answer(true);
    expect(codes(ann)).toEqual(["channel_not_authorized", "ack"]);
    renew(ann, world.keys.token("ann"));
    expect(codes(ann)).toEqual(["ack"]);
  });

  test("is refused if the store has no such change, and cannot be checked while it is away", async () => {
    const refused = behind();
    await refused.answer(true);
    expect(refused.ann.newFrames()).toEqual(["error invalid_token r2"]);
    const away = behind();
    await away.answer(false);
    expect(away.ann.newFrames()).toEqual(["error internal_error r2"]);
    expect(away.ann.connection.keyId).toBe(SECRET_KEY);
  });

  test("is checked again: one whose key was revoked meanwhile is refused, and a connection that has ended stays so", async () => {
    const ended = behind();
    ended.widen();
    ended.ann.vanish();
    await ended.answer(true);
    expect(ended.ann.newFrames()).toEqual([]);
    expect(ended.world.node.hub.connections.countOfKey(SECOND_KEY)).toBe(0);
    const revoked = behind();
    revoked.widen();
    revoked.world.keys.editKey(SECOND_KEY, { revoked: 1 });
    await revoked.answer(true);
    expect(revoked.ann.newFrames()).toEqual(["error invalid_token r2"]);
  });

  test("gives the cost of a refusal back if it is good after all", async () => {
    const { world, ann, widen, answer } = behind(11);
    widen();
    await answer(true);
    renew(ann, world.keys.token("ann"));
    expect(codes(ann)).toEqual(["channel_not_authorized", "ack", "ack"]);
  });
});
