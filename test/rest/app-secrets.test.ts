/** Rotation of an application's secret key (protocol.md 8), and what it ends (rooms.md, access tokens). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { CONFLICT, INVALID, refused, startChecked } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const { admin } = server;

const rotate = async ({ id }: Application, body?: Json, by = admin): Promise<string> =>
  (await by.must<{ secretKey: string }>("POST", `/apps/${id}/secret-key/rotate`, body)).secretKey;

const withKey = (app: Application, secretKey: string): Application => new Application(app.url, app.name, secretKey);

/** Whether each of these secret keys opens the application API. */
const opens = (app: Application, keys: readonly string[]): Promise<boolean[]> =>
  Promise.all(
    keys.map(async (key) => {
      const answer = await withKey(app, key).call("GET", "/rooms");
      if (answer.status !== 200) expectAppRefusal(answer, 400, "invalid_secret_key");
      return answer.status === 200;
    }),
  );

const mint = async (app: Application, body: Json = {}): Promise<string> =>
  (await app.must<{ token: string }>("POST", "/token", body)).token;
const isGood = async (app: Application, token: string): Promise<boolean> =>
  (await withKey(app, "").call("POST", "/token/validate", { token })).status === 200;

describe("the old secret key", () => {
  test("keeps working for a day by default, beside the new one", async () => {
    const app = await newApplication(server);
    const fresh = await rotate(app);
    expect(await opens(app, [app.secretKey, fresh])).toEqual([true, true]);
    expect(await admin.must<Json>("GET", `/apps/${app.id}/secret-key`)).toEqual({ secretKey: fresh });
    const { data } = await admin.must<{ data: { after: { previousEnds: string } }[] }>(
      "GET",
      `/audit?app=${app.id}&what=app%20secret%20rotated`,
    );
    const previousEnds = Date.parse(data[0]?.after.previousEnds ?? "");
    expect(previousEnds - Date.now()).toBeWithin(86_300_000, 86_400_001);
  });

  test("works until the end of its grace period", async () => {
    const app = await newApplication(server);
    const fresh = await rotate(app, { graceSec: 1 });
    await until("the old key is refused", async () => !(await opens(app, [app.secretKey]))[0]);
    expect(await opens(app, [app.secretKey, fresh])).toEqual([false, true]);
  });

  test("keeps its own end through later rotations; graceSec 0 ends only the current one", async () => {
    const app = await newApplication(server);
    const second = await rotate(app, { graceSec: 1000 });
    const third = await rotate(app, { graceSec: 0 });
    expect(await opens(app, [app.secretKey, second, third])).toEqual([true, false, true]);
    const { previousSecrets } = await admin.must<{ previousSecrets: { endsAt: number }[] }>("GET", `/apps/${app.id}`);
    expect(previousSecrets.map(({ endsAt }) => endsAt - Date.now() / 1000)).toEqual([expect.closeTo(1000, -2)]);
  });

  test("ends at once with retirePrevious, and so do all earlier ones", async () => {
    const app = await newApplication(server);
    const second = await rotate(app, { graceSec: 1000 });
    const third = await rotate(app, { retirePrevious: true });
    expect(await opens(app, [app.secretKey, second, third])).toEqual([false, false, true]);
  });

  test("five can be in their grace period; a sixth rotation is refused", async () => {
    const app = await newApplication(server);
    const keys = [app.secretKey];
    for (let i = 0; i < 5; i++) keys.push(await rotate(app, { graceSec: 1000 + i }));
    await refused(admin, CONFLICT, "POST", `/apps/${app.id}/secret-key/rotate`, { graceSec: 60 });
    await refused(admin, CONFLICT, "POST", `/apps/${app.id}/secret-key/rotate`);
    expect(await opens(app, keys)).toEqual(keys.map(() => true));
    keys.push(await rotate(app, { graceSec: 0 }));
    expect(await opens(app, keys)).toEqual([true, true, true, true, true, false, true]);
  });

  test.each<Json>([{ graceSec: -1 }, { graceSec: 1.5 }, { graceSec: 2_592_001 }, { grace: 1 }, { graceSec: null }])(
    "%j is refused, and nothing is rotated",
    async (body) => {
      const app = await newApplication(server);
      await refused(admin, INVALID, "POST", `/apps/${app.id}/secret-key/rotate`, body);
      expect(await admin.must<Json>("GET", `/apps/${app.id}/secret-key`)).toEqual({ secretKey: app.secretKey });
    },
  );

  test("survives a restart, and is not stored as plain text", async () => {
    using folder = scratch();
    const first = await startChecked({ data: folder.path });
    const app = await newApplication(first);
    const fresh = await rotate(app, {}, first.admin);
    await first.kill();
    for (const file of new Bun.Glob("parley.db*").scanSync(folder.path)) {
      const bytes = await Bun.file(`${folder.path}/${file}`).text();
      for (const secret of [app.secretKey, fresh]) expect(bytes).not.toContain(secret);
    }
    await using second = await startChecked({ data: folder.path });
    const restarted = new Application(second.url, app.name, "", app.id);
    expect(await opens(restarted, [app.secretKey, fresh])).toEqual([true, true]);
  });
});

describe("access tokens", () => {
  test("minted before a rotation stay valid through the grace period, and no longer", async () => {
    const app = await newApplication(server);
    const token = await mint(app);
    const second = await rotate(app, { graceSec: 1000 });
    expect(await isGood(app, token)).toBe(true);
    const later = await mint(withKey(app, second));
    await rotate(app, { graceSec: 0 });
    expect([await isGood(app, token), await isGood(app, later)]).toEqual([true, false]);
    await rotate(app, { retirePrevious: true });
    expect(await isGood(app, token)).toBe(false);
  });

  test("minted with the old key during its grace period end with that key, not with the new one", async () => {
    const app = await newApplication(server);
    const fresh = await rotate(app, { graceSec: 1000 });
    const token = await mint(app, { globalToken: true, isAdmin: true });
    const newer = await mint(withKey(app, fresh));
    expect([await isGood(app, token), await isGood(app, newer)]).toEqual([true, true]);
    await rotate(app, { retirePrevious: true, graceSec: 1000 });
    expect(await isGood(app, token)).toBe(false);
  });

  test("minted with the old key during a short grace period end with it", async () => {
    const app = await newApplication(server);
    const fresh = await rotate(app, { graceSec: 3 });
    const token = await mint(app);
    const newer = await mint(withKey(app, fresh));
    expect(await isGood(app, token)).toBe(true);
    await until("the token is refused", async () => !(await isGood(app, token)));
    expect(await isGood(app, newer)).toBe(true);
  });

  test("end with the grace period", async () => {
    const app = await newApplication(server);
    const token = await mint(app);
    await rotate(app, { graceSec: 1 });
    await until("the token is refused", async () => !(await isGood(app, token)));
    const answer = await withKey(app, "").call("POST", "/token/validate", { token });
    const { message } = expectAppRefusal(answer, 400, "invalid_access_token");
    expect(message).toBe("The application's secret key was rotated after the access token was created.");
  });
});
