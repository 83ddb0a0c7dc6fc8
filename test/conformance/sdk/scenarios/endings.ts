import { deepEqual, equal, ok } from "node:assert/strict";
import { neverCut } from "../check.ts";
import type { Caller, Member } from "../clients.ts";
import type { Scenario } from "../scenario.ts";
import type { Scene } from "../scene.ts";
import type { Line } from "../wire.ts";

/** Far more than the bucket allows: 500 at once, 100 per second. */
const FLOOD_FRAMES = 1000;
/** Every four seconds the runtime frees sockets that it has closed; the close code must still arrive. */
const FLOOD_MS = 4500;
const FLOOD_PAUSE_MS = 50;
/** A client on a busy machine hears of it late. */
const LATE_MAX_SEC = 6;

/** Sends for that long, and reads nothing in the meantime. */
function flood({ socket }: Line, frame: string): void {
  const end = performance.now() + FLOOD_MS;
  while (performance.now() < end) {
    for (let sent = 0; sent < FLOOD_FRAMES; sent++) socket.send(frame);
    const pauseEnd = performance.now() + FLOOD_PAUSE_MS;
    while (performance.now() < pauseEnd);
  }
}

/** Resolves when both have ended permanently. */
async function ended(scene: Scene, caller: Caller, member: Member, code: number, errorName: string): Promise<void> {
  await scene.until(`the clients do not end with ${code}`, () =>
    [caller.client.state, member.peer.state].every((state) => state === "closed"),
  );
  deepEqual(
    caller.disconnects.map((one) => [one.code, one.willReconnect]),
    [[code, false]],
  );
  equal(member.wire.line.closeCode, code);
  deepEqual(
    member.errors.map(({ name }) => name),
    [errorName],
  );
  for (const { wire } of [caller, member]) equal(wire.lines.length, 1);
}

export const endings: readonly Scenario[] = [
  {
    name: "4002: the token provider is called again, and subscriptions are replayed",
    run: async (scene) => {
      const expiries: number[] = [];
      const tokenProvider = async (): Promise<string> => {
        // Only the first token is short: one with less than a second left is refused, so 3 s are effectively 1 to 2 s.
        const expiresInSec = expiries.length === 0 ? 3 : 600;
        const { token, expiresAt } = await scene.service.mint({ peerId: scene.id("alice"), expiresInSec });
        expiries.push(expiresAt);
        return token;
      };
      const alice = await scene.connect({ tokenProvider });
      await alice.client.subscribe(scene.channel());
      await scene.until("the token does not end", () => alice.disconnects.length === 1);
      ok(Date.now() / 1000 <= (expiries[0] ?? 0) + LATE_MAX_SEC, "it was closed long after its token's end");
      deepEqual(
        alice.disconnects.map(({ code, willReconnect }) => [code, willReconnect]),
        [[4002, true]],
      );
      await scene.until(
        "it does not reconnect",
        () => alice.connects.length === 2 && alice.wire.line.count("ack") === 1,
      );
      equal(expiries.length, 2);
      deepEqual(
        alice.connects.map(({ peerId, expiresAt }) => [peerId, expiresAt]),
        expiries.map((expiresAt) => [scene.id("alice"), expiresAt]),
      );
      const bob = await scene.connect(await scene.token("bob"));
      await bob.client.publish(scene.channel(), "hello again");
      await scene.until("the subscription is not restored", () => alice.messages.length === 1);
    },
  },
  {
    name: "4020 ends the SDK: a kicked peer leaves and does not reconnect",
    run: async (scene) => {
      const channel = scene.channel();
      const [bystander] = (await scene.crowd(channel, 1)) as [Member];
      const role = await scene.token("kicked");
      const caller = await scene.connect(role);
      const member = await scene.join(channel, role);
      await scene.acquainted([bystander, member]);
      const { status, body } = await scene.service.kick(scene.id("kicked"));
      deepEqual([status, body], [200, { peerId: scene.id("kicked"), closed: 2 }]);
      await ended(scene, caller, member, 4020, "admin_disconnect");
      await scene.until("the bystander still knows it", () => bystander.known.length === 0);
      equal(bystander.left.length, 1);
      neverCut(bystander);
    },
  },
  {
    name: "4001 ends the SDK: the connections of a revoked key close, with and without a token",
    needs: "admin",
    run: async (scene) => {
      const { admin, mint } = { admin: scene.service.admin, mint: scene.service.mint.bind(scene.service) };
      const app = await admin.createApp();
      try {
        const publishable = await admin.createPublishable(app._id);
        const secret = await admin.createKey(app._id);
        const { token } = await mint({ peerId: scene.id("alice") }, secret.credential);
        for (const [keyId, role] of [
          [publishable.keyId, { apiKey: publishable.keyId }],
          [secret.keyId, { tokenProvider: async () => token }],
        ] as const) {
          const caller = await scene.connect(role);
          const member = await scene.join(scene.channel(), role);
          await admin.revoke(keyId);
          await ended(scene, caller, member, 4001, "invalid_token");
        }
      } finally {
        await admin.must("DELETE", `/apps/${app._id}`);
      }
    },
  },
  {
    name: "4011 does not end the SDK: a client that floods learns why it was closed, and reconnects with its subscriptions",
    run: async (scene) => {
      const channel = scene.channel();
      const flooder = await scene.connect(await scene.token("flooder"));
      await flooder.client.subscribe(channel);
      flood(flooder.wire.line, JSON.stringify({ type: "unsubscribe", channel: scene.channel("never held") }));
      await scene.until(
        "it does not reconnect",
        () => flooder.connects.length === 2 && flooder.wire.line.count("ack") === 1,
      );
      deepEqual(
        flooder.disconnects.map(({ code, willReconnect }) => [code, willReconnect]),
        [[4011, true]],
      );
      const bob = await scene.connect(await scene.token("bob"));
      await bob.client.publish(channel, "calm down");
      await scene.until("the subscription is not restored", () => flooder.messages.length === 1);
    },
  },
];
