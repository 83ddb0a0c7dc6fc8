/** Two applications on one service, and a key that is rotated while it is in use. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Admin, type App, type Key, mint, mintToken, type SecretKey } from "../support/admin.ts";
import { nowSeconds, selfSigned } from "../support/jwt.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";

setDefaultTimeout(60_000);

let server: Server;
let admin: Admin;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  admin = server.admin;
});
afterAll(() => server.stop());

interface Tenant {
  readonly app: App & { secretKey: string };
  readonly publishable: Key;
  readonly keys: readonly SecretKey[];
  /** A previous secret in its grace period, with its key. */
  readonly previous: { keyId: string; secret: string };
}

async function tenant(): Promise<Tenant> {
  const app = await admin.createApp();
  const [first, second] = [await admin.createKey(app._id), await admin.createKey(app._id)];
  const { secret } = await admin.rotate(second.keyId);
  return {
    app,
    publishable: await admin.createPublishable(app._id),
    keys: [first, { ...second, secret, credential: `${second.keyId}:${secret}` }],
    previous: { keyId: second.keyId, secret: second.secret },
  };
}

describe("two applications", () => {
  let one: Tenant;
  let two: Tenant;
  beforeAll(async () => {
    one = await tenant();
    two = await tenant();
  });

  const idsOf = ({ publishable, keys, app }: Tenant): string[] => [
    publishable.keyId,
    ...keys.map((key) => key.keyId),
    app._id,
    app.name,
  ];
  const secretsOf = ({ keys, previous, app }: Tenant): string[] => [
    ...keys.map((key) => key.secret),
    previous.secret,
    app.secretKey,
  ];

  test("no secret of one works with an id of the other", async () => {
    for (const [mine, theirs] of [
      [one, two],
      [two, one],
    ] as const) {
      for (const id of idsOf(mine))
        for (const secret of secretsOf(theirs)) expect((await mint(server.url, `${id}:${secret}`)).status).toBe(401);
      // The matching pairs work, so the refusals above are caused by the mixing.
      for (const key of mine.keys) expect((await mint(server.url, key.credential)).status).toBe(200);
      const { keyId, secret } = mine.previous;
      expect((await mint(server.url, `${keyId}:${secret}`)).status).toBe(200);
    }
  });

  test("no token signed with a secret of one is accepted for the other, whatever key it names", async () => {
    for (const [mine, theirs] of [
      [one, two],
      [two, one],
    ] as const)
      for (const id of idsOf(mine))
        for (const secret of secretsOf(theirs))
          expect(await admin.check(selfSigned(id, secret))).toMatchObject({ valid: false, error: "invalid_token" });
  });

  test("a token belongs to the application of the key that signed it, whatever it claims", async () => {
    for (const { app, keys } of [one, two])
      for (const { keyId, secret, credential } of keys) {
        expect(await admin.check(await mintToken(server.url, credential))).toMatchObject({ app: app._id, keyId });
        const claims = { app: one.app._id, appId: two.app._id, iss: two.app.name, aud: two.app._id };
        expect(await admin.check(selfSigned(keyId, secret, claims))).toMatchObject({ app: app._id, keyId });
      }
  });

  test("the keys of one are not listed with the other's", async () => {
    for (const { app, keys, publishable } of [one, two]) {
      const listed = (await admin.keys(app.name)).map((key) => key.keyId).sort();
      expect(listed).toEqual([...keys, publishable].map((key) => key.keyId).sort());
    }
  });

  test("an application named like the id of another does not take its place", async () => {
    const app = await admin.createApp();
    const key = await admin.createKey(app._id);
    const impostor = await admin.createApp(app._id);
    expect((await admin.must<App>("GET", `/apps/${app._id}`)).name).toBe(app.name);
    expect((await admin.createKey(app._id)).app).toBe(app._id);
    expect(await admin.keys(impostor._id)).toEqual([]);
    expect((await admin.must<App>("DELETE", `/apps/${impostor._id}`)).name).toBe(app._id);
    expect((await mint(server.url, key.credential)).status).toBe(200);
  });

  test("changes to the keys of one do not affect the other's", async () => {
    const token = await mintToken(server.url, two.keys[0]!.credential);
    const gone = await tenant();
    await admin.patchKey(gone.keys[0]!.keyId, { channelPatterns: [], actions: [] });
    await admin.rotate(gone.keys[0]!.keyId, { retirePrevious: true });
    await admin.must("POST", `/apps/${gone.app._id}/secret-key/rotate`);
    await admin.must("DELETE", `/apps/${gone.app._id}`);
    expect((await admin.check(token)).valid).toBe(true);
    expect((await mint(server.url, two.keys[0]!.credential, { peerId: "a", channels: ["x"] })).status).toBe(200);
    expect(await admin.must<object>("GET", `/apps/${two.app._id}/secret-key`)).toEqual({
      secretKey: two.app.secretKey,
    });
  });
});

describe("rotation under load", () => {
  const ROTATIONS = IS_FULL ? 20 : 7;
  const USERS = 8;
  const GRACE_SECONDS = 2;
  const MINTS_UNTIL_MS = 2000;

  interface Generation {
    readonly secret: string;
    /** Unix ms until which it must be accepted; set by the rotation that replaces it. */
    until: number;
  }

  interface Held {
    readonly token: string;
    readonly generation: Generation;
    readonly until: number;
    readonly what: string;
  }

  interface Refused {
    readonly generation: Generation;
    /** The token's own expiry. */
    readonly until: number;
    readonly atMs: number;
    readonly what: string;
  }

  test(`no valid token or secret is refused while a key is rotated ${ROTATIONS} times`, async () => {
    const app = await admin.createApp();
    const { keyId, secret } = await admin.createKey(app._id);
    const generations: Generation[] = [{ secret, until: Number.POSITIVE_INFINITY }];
    const newest = (): Generation => generations.at(-1)!;
    const refused: Refused[] = [];
    const counts = { minted: 0, checked: 0, previous: 0 };
    let over = false;

    async function check({ token, generation, until, what }: Held): Promise<void> {
      const path = "/signalling/tokens/check";
      let answer = await admin.call<{ valid: boolean }>("POST", path, { token });
      // Checks have a rate, which this load reaches: another attempt follows the response without a sleep.
      while (answer.status === 429 && !over) answer = await admin.call("POST", path, { token });
      if (answer.status === 429) return;
      const { valid, error } = answer.body;
      counts.checked++;
      if (valid && generation !== newest()) counts.previous++;
      if (!valid) refused.push({ generation, until, atMs: Date.now(), what: `${what}: ${error}` });
    }

    /** Mints with the newest secret it knows, signs a token itself, and checks these and earlier ones until they expire. */
    async function use(): Promise<void> {
      let held: Held[] = [];
      while (!over) {
        const generation = newest();
        const { status, body, text } = await mint(server.url, `${keyId}:${generation.secret}`);
        counts.minted++;
        const forever = Number.POSITIVE_INFINITY;
        // A secret that is about to end mints no more: what it signs would not be valid for a second.
        if (status !== 200 && Date.now() < generation.until - MINTS_UNTIL_MS)
          refused.push({ generation, until: forever, atMs: Date.now(), what: `mint: ${text}` });
        if (status !== 200) continue;
        // Less than a second left counts as expired (protocol.md 1).
        held.push({ token: body.token, generation, until: (body.expiresAt - 1) * 1000, what: "minted" });
        const token = selfSigned(keyId, generation.secret, { exp: nowSeconds() + 3600 });
        held.push({ token, generation, until: forever, what: "self-signed" });
        held = held.filter((one) => Date.now() < Math.min(one.generation.until, one.until));
        const earlier = Array.from({ length: 4 }, () => held[Math.floor(Math.random() * held.length)]);
        for (const one of [...held.slice(-2), ...earlier]) if (one) await check(one);
      }
    }

    async function rotate(): Promise<void> {
      const body = { graceSec: GRACE_SECONDS };
      while (generations.length <= ROTATIONS) {
        const { status, body: rotated } = await admin.call<{ secret: string; previousSecretExpiresAt: number }>(
          "POST",
          `/signalling/keys/${keyId}/rotate`,
          body,
        );
        // Five are in their grace period already, so the next attempt follows the response without a sleep.
        if (status === 409) continue;
        expect(status).toBe(200);
        newest().until = rotated.previousSecretExpiresAt * 1000;
        generations.push({ secret: rotated.secret, until: Number.POSITIVE_INFINITY });
      }
      over = true;
    }

    await Promise.all([rotate(), ...Array.from({ length: USERS }, use)]);
    const wrongly = refused.filter(({ generation, until, atMs }) => atMs < Math.min(generation.until, until));
    expect(wrongly).toEqual([]);
    expect(generations.length).toBe(ROTATIONS + 1);
    // The load was sufficient, and included tokens of earlier secrets.
    expect(counts.minted).toBeGreaterThan(ROTATIONS);
    expect(counts.previous).toBeGreaterThan(0);
  });
});
