/** Operators and sessions of the dashboard: what begins or ends on one node does so on the other. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { sessionAt, sessionStatus, signOut, withCookie } from "../support/dashboard.ts";
import { call } from "../support/http.ts";
import { runParley, type Server } from "../support/parley.ts";
import { isInSample } from "../support/sample.ts";
import { SOON_MS, until } from "../support/wait.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(60_000);

interface Operator {
  readonly _id: string;
  readonly token: string;
}

const statusOf = async (node: Server, token: string): Promise<number> =>
  (await call(`${node.url}/api/internal/v1/apps`, { bearer: token })).status;

const JOINED = [
  ["joined by NATS", true],
  ["joined only by the store", false],
] as const;

describe.each(JOINED.filter((_, at) => isInSample(at, 2)))("%s", (_name, joined) => {
  let cluster: Cluster;
  let one: Server;
  let other: Server;
  beforeAll(async () => {
    cluster = await Cluster.start({ joined });
    [one, other] = cluster.pair;
  });
  afterAll(() => cluster.stop());

  const create = (): Promise<Operator> =>
    one.admin.must("POST", "/operators", { name: crypto.randomUUID(), role: "admin" });

  test("an operator's token and a session work at once on the other node", async () => {
    for (let i = 0; i < 5; i++) {
      const { token } = await create();
      expect(await statusOf(other, token)).toBe(200);
      const cookie = await sessionAt(one.url, token);
      expect(await sessionStatus(other.url, cookie)).toBe(200);
      const fromOther = await sessionAt(other.url, token);
      expect((await withCookie(`${one.url}/api/internal/v1/apps`, fromOther)).status).toBe(200);
    }
  });

  test("a sign-out ends the session on the other node", async () => {
    const cookie = await sessionAt(one.url, one.adminToken);
    expect(await sessionStatus(other.url, cookie)).toBe(200);
    expect((await signOut(other.url, cookie)).status).toBe(200);
    await until("it has ended", async () => (await sessionStatus(one.url, cookie)) === 401, SOON_MS);
  });

  test("a revocation ends the token and its sessions on the other node", async () => {
    const { _id, token } = await create();
    const cookie = await sessionAt(other.url, token);
    expect(await sessionStatus(one.url, cookie)).toBe(200);
    await one.admin.must("DELETE", `/operators/${_id}`);
    await until(
      "both have ended",
      async () => (await statusOf(other, token)) === 401 && (await sessionStatus(other.url, cookie)) === 401,
      SOON_MS,
    );
  });

  test("the audit has the changes of both nodes", async () => {
    const app = await one.admin.createApp();
    await other.admin.must("PATCH", `/apps/${app._id}`, { consolePayloads: true });
    const { data } = await one.admin.must<{ data: { what: string }[] }>("GET", `/audit?app=${app._id}`);
    expect(data.map(({ what }) => what)).toEqual(["app edited", "app created"]);
  });
});

test("a reset of the admin token ends its sessions on every node, and leaves those of operators", async () => {
  const cluster = await Cluster.start({ env: { PARLEY_ADMIN_TOKEN: "" } });
  try {
    const reset = async (): Promise<string> => {
      const { output } = await runParley(["admin", "reset-token", "--json", "--yes"], cluster.env);
      return (JSON.parse(output.split("\n").find((line) => line.startsWith("{")) ?? "") as { adminToken: string })
        .adminToken;
    };
    const [one, other] = cluster.pair;
    const first = await reset();
    await until("it is known", async () => (await statusOf(one, first)) === 200, SOON_MS);
    const cookie = await sessionAt(one.url, first);
    expect(await sessionStatus(other.url, cookie)).toBe(200);
    const { body } = await call<Operator>(`${one.url}/api/internal/v1/operators`, {
      bearer: first,
      body: { name: "ann", role: "read" },
    });
    const ann = await sessionAt(other.url, body.token);
    const second = await reset();
    for (const node of [one, other]) {
      await until("the session has ended", async () => (await sessionStatus(node.url, cookie)) === 401, SOON_MS);
      // 429 if the new token was tried too often before it was known: then the old one counts as a wrong one.
      expect([401, 429]).toContain(await statusOf(node, first));
      expect(await statusOf(node, second)).toBe(200);
      expect(await sessionStatus(node.url, ann)).toBe(200);
    }
  } finally {
    await cluster.stop();
  }
});
