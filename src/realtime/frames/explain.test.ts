/** An explanation of a frame says what happens to the frame. */
import { expect, test } from "bun:test";
import { Chance } from "../../../test/support/random.ts";
import { Blocks } from "../../access/admission/blocks.ts";
import { explain, type Moment } from "../../access/admission/explain.ts";
import { signToken } from "../../access/tokens/token.ts";
import { ACTIONS, type Action } from "../../protocol/actions.ts";
import { SECRET_KEY, World } from "../testing/kit.ts";

const CODES: Readonly<Record<string, string>> = {
  "channel name": "invalid_channel",
  "reserved name": "channel_reserved",
  action: "action_not_permitted",
  channel: "channel_not_authorized",
  "message quota": "over_message_quota",
};

test("the verdict on 600 random frames is that of the dispatch", () => {
  const chance = new Chance(15);
  const seen = new Set<string>();
  const world = new World();
  const { keyring } = world.keys;
  const parts = {
    keyring,
    blocks: new Blocks(),
    keyRate: { debt: () => 0, charge: () => undefined },
    revoked: undefined,
  };
  const some = <T>(values: readonly T[]): T[] => values.filter(() => !chance.once(3));
  for (let i = 0; i < 600; i++) {
    world.keys.editKey(SECRET_KEY, {
      channelPatterns: some(["chat/*", "news", "a/**"]),
      actions: chance.once(2) ? ACTIONS : some(ACTIONS),
    });
    const isOver = chance.once(6);
    world.keys.editApp({ maxMessagesPerPeriod: isOver ? 0 : null });
    const key = keyring.key(SECRET_KEY);
    if (key?.type !== "secret" || !key.secrets[0]) throw new Error("the key has no secret");
    const channels = chance.once(2) ? undefined : some([...key.scope.patterns]);
    const now = world.clock.wallMs();
    const claims = { sub: "ann", exp: Math.ceil(now / 1000) + 600, ...(channels && { channels }) };
    const token = signToken(claims, SECRET_KEY, key.secrets[0]);
    const channel = chance.pick(["chat/1", "chat/1/2", "news", "a/b/c", "chat/*", "", "_parley/x", "other"]);
    const action: Action = chance.pick(["publish", "subscribe", "send"]);
    const moment: Moment = {
      isDraining: false,
      connectsPerMinute: 0,
      connectionsOf: () => ({ now: 0, max: null }),
      isQuotaUsedUp: () => isOver,
    };
    const { checks, allowed } = explain({ token, channel, action }, parts, moment, now);
    const client = world.connect("ann", channels ? { channels } : {});
    const other = world.connect("ben");
    client.request({ type: action, channel, to: "ben", data: 1 });
    const [answer] = client.take();
    const refused = checks.find(({ result }) => result === "refuses");
    expect({ i, channel, action, code: answer?.code }).toEqual({
      i,
      channel,
      action,
      code: CODES[refused?.name ?? ""],
    });
    expect(allowed).toBe(answer?.code === undefined);
    seen.add(answer?.code ?? "allowed");
    client.vanish();
    other.vanish();
  }
  expect([...seen].sort()).toEqual([...Object.values(CODES), "allowed"].sort());
});
