import { describe, expect, spyOn, test } from "bun:test";
import type { Operator, Role } from "../../access/operators/operator.ts";
import { Throttle } from "../../base/throttle.ts";
import { Problem } from "../../protocol/codes.ts";
import { Call } from "../request/call.ts";
import { operatorGuards, rateLimited } from "./operator.ts";

const SECRET = "s".repeat(48);
const TOKEN = `op_${"t".repeat(48)}`;
const HOST = "127.0.0.1:8080";
const ORIGIN = `http://${HOST}`;

function setup({ role = "admin" as Role, hasDashboard = true, isKnown = true, host = HOST } = {}) {
  const state = { isKnown, caughtUp: 0, lookups: 0 };
  const operator: Operator = { name: "ann", role, revoked: new AbortController().signal };
  const row = { digest: "d", operator: "o", credential: "o", created: 0, ends: 1 };
  const guards = operatorGuards({
    operators: {
      byToken: (token) => (state.isKnown && token === TOKEN ? { operator, id: "o" } : undefined),
      bySession: (secret) => {
        state.lookups++;
        return state.isKnown && secret === SECRET ? { operator, row } : undefined;
      },
      adminOperator: operator,
    },
    wrongTries: new Throttle(10, 1, () => 0),
    guesses: { wait: () => undefined },
    isOwnHost: (call) => call.host === host,
    hasDashboard,
    storeFollower: {
      catchUp: async () => {
        state.caughtUp++;
        state.isKnown = true;
        return true;
      },
    },
  });
  return { guards, state };
}

const callWith = (headers: Record<string, string>, method = "GET", scheme = "http"): Call =>
  new Call(
    new Request(`${scheme}://${HOST}/`, { method, headers: { Host: HOST, ...headers } }),
    { address: () => "192.0.2.1", setIdleSeconds: () => undefined },
    { trustedProxies: [], domain: "localhost" },
    {},
  );

const COOKIE = { Cookie: `a=1; parley=${SECRET}` };
const HEADER = { "X-Parley-Dashboard": "1" };

/** The operator's name, or the code of the refusal. */
async function outcome(admit: () => Operator | Promise<Operator>): Promise<string> {
  try {
    return (await admit()).name;
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
}

describe("a cookie", () => {
  const cases: [string, Record<string, string>, string, string][] = [
    ["with the header reads", { ...COOKIE, ...HEADER }, "GET", "ann"],
    ["without the header does not read", COOKIE, "GET", "forbidden"],
    ["is not enough for HEAD either", COOKIE, "HEAD", "forbidden"],
    ["with Sec-Fetch-Site alone does not read", { ...COOKIE, "Sec-Fetch-Site": "same-origin" }, "GET", "forbidden"],
    ["with header and Origin changes", { ...COOKIE, ...HEADER, Origin: ORIGIN }, "POST", "ann"],
    ["without Origin does not change", { ...COOKIE, ...HEADER }, "DELETE", "forbidden"],
    ["of a foreign Origin does not change", { ...COOKIE, ...HEADER, Origin: "http://x" }, "PUT", "forbidden"],
    ["under a foreign host is not looked at", { ...COOKIE, ...HEADER, Host: "evil.example" }, "GET", "wrong_host"],
    ["beside a wrong token does not count", { ...COOKIE, ...HEADER, Authorization: "Bearer x" }, "GET", "unauthorized"],
    ["of another name does not count", { Cookie: `__Host-parley=${SECRET}`, ...HEADER }, "GET", "unauthorized"],
    ["of another form does not count", { Cookie: "parley=x", ...HEADER }, "GET", "unauthorized"],
  ];
  test.each(cases)("%s", async (_name, headers, method, expected) => {
    const { guards } = setup();
    expect(await outcome(() => guards.operator.admit(callWith(headers, method)))).toBe(expected);
  });

  test("opens streams and files for pages of the same origin only", async () => {
    const { guards } = setup();
    const stream = (site: string): Promise<string> =>
      outcome(() => guards.stream.admit(callWith({ ...COOKIE, "Sec-Fetch-Site": site })));
    expect(await stream("same-origin")).toBe("ann");
    for (const site of ["same-site", "cross-site", "none", ""]) expect(await stream(site)).toBe("forbidden");
    expect(await outcome(() => guards.stream.admit(callWith({ ...COOKIE, ...HEADER })))).toBe("ann");
    expect(await outcome(() => guards.stream.admit(callWith({ Authorization: `Bearer ${TOKEN}` })))).toBe("ann");
  });

  test("has the name with the prefix over HTTPS", async () => {
    const { guards } = setup();
    const over = (name: string): Promise<string> =>
      outcome(() => guards.operator.admit(callWith({ Cookie: `${name}=${SECRET}`, ...HEADER }, "GET", "https")));
    expect([await over("__Host-parley"), await over("parley")]).toEqual(["ann", "unauthorized"]);
  });

  test("is found behind as many of the same name and form as a browser keeps per host, and the lookups have a bound", async () => {
    const { guards, state } = setup();
    const others = (count: number): string =>
      Array.from({ length: count }, (_, i) => `parley=${String(i).padStart(48, "x")}; `).join("");
    const behind = async (count: number): Promise<[string, number]> => {
      state.lookups = 0;
      const headers = { Cookie: `${others(count)}parley=${SECRET}`, ...HEADER };
      return [await outcome(() => guards.operator.admit(callWith(headers))), state.lookups];
    };
    expect(await behind(5)).toEqual(["ann", 6]);
    expect(await behind(180)).toEqual(["ann", 181]);
    // Before and after the store's latest changes.
    expect(await behind(250)).toEqual(["unauthorized", 400]);
    expect(await behind(2000)).toEqual(["unauthorized", 0]);
  });

  test("is found between others, whatever they hold", async () => {
    const found = async (header: string): Promise<string[]> => [
      await outcome(() => setup().guards.operator.admit(callWith({ Cookie: header, ...HEADER }))),
    ];
    const own = `parley=${SECRET}`;
    for (const header of [own, `${own};`, `a=${own}; ${own}`, `;;; ;${own} ;b`, `parley=x;${own};parley=y`])
      expect(await found(header)).toEqual(["ann"]);
    for (const header of [`x${own}`, `a=${own}`, `${own}x`, `parley =${SECRET}`, `${own} x`, `"${own}"`])
      expect(await found(header)).toEqual(["unauthorized"]);
  });

  test("in a header of more than 16 KiB is not read: that costs work before any rate is charged", async () => {
    const { guards, state } = setup();
    const admit = (filler: number): Promise<string> =>
      outcome(() => guards.operator.admit(callWith({ Cookie: `${";".repeat(filler)}${COOKIE.Cookie}`, ...HEADER })));
    expect(await admit(16 * 1024 - COOKIE.Cookie.length)).toBe("ann");
    state.lookups = 0;
    expect(await admit(16 * 1024)).toBe("unauthorized");
    expect(state.lookups).toBe(0);
  });

  test("changes something from the same origin, however it is written, and no Origin is parsed as a URL", async () => {
    const from = async (origin: string, host = HOST): Promise<string> => {
      const { guards } = setup({ host });
      const headers = { ...COOKIE, ...HEADER, Host: host, Origin: origin };
      return await outcome(() => guards.operator.admit(callWith(headers, "POST")));
    };
    expect(await from("http://a.example", "a.example:80")).toBe("ann");
    expect(await from("http://a.example:80", "A.example")).toBe("ann");
    expect(await from("http://a.example.:8080", "a.example.:8080")).toBe("ann");
    expect(await from("http://[::1]:8080", "[::1]:8080")).toBe("ann");
    const parse = spyOn(URL, "parse");
    for (const origin of [
      `http://a${"%CC%81".repeat(8000)}${"%CC%96".repeat(8000)}`,
      "null",
      "*",
      "http://",
      "https://a.example",
      "http://b.example",
      "http://*.example",
      "http://a.example/",
    ])
      expect(await from(origin, "a.example")).toBe("forbidden");
    expect(await from("http://", "")).toBe("forbidden");
    expect(parse).toHaveBeenCalledTimes(0);
    parse.mockRestore();
  });

  test("is ignored without the dashboard", async () => {
    const { guards } = setup({ hasDashboard: false });
    expect(await outcome(() => guards.operator.admit(callWith({ ...COOKIE, ...HEADER })))).toBe("unauthorized");
  });
});

test("the role read is admitted to what shows no secret, and refused where something changes", async () => {
  const { guards } = setup({ role: "read" });
  const call = (): Call => callWith({ Authorization: `Bearer ${TOKEN}` });
  expect(await outcome(() => guards.operator.admit(call()))).toBe("ann");
  expect(await outcome(() => guards.admin.admit(call()))).toBe("forbidden");
  expect(await outcome(() => guards.admin.recheck(call()))).toBe("forbidden");
});

test.each([
  ["token", { Authorization: `Bearer ${TOKEN}` }],
  ["cookie", { ...COOKIE, ...HEADER }],
])("a %s that another node has just made is looked up after the store's latest changes", async (_name, headers) => {
  const { guards, state } = setup({ isKnown: false });
  expect(await outcome(() => guards.operator.admit(callWith(headers)))).toBe("ann");
  expect(state.caughtUp).toBe(1);
});

test.each([
  ["a wrong admin token", { Authorization: "Bearer wrong" }],
  ["no credential", {}],
  ["the cookie of another service", { Cookie: "parley=x", ...HEADER }],
])("%s does not make the node read the store", async (_name, headers) => {
  const { guards, state } = setup({ isKnown: false });
  expect(await outcome(() => guards.operator.admit(callWith(headers as Record<string, string>)))).toBe("unauthorized");
  expect(state.caughtUp).toBe(0);
});

test("a rate per operator refuses further reads, also of operators that another node made", async () => {
  for (const isKnown of [true, false]) {
    const { guards } = setup({ isKnown });
    const limited = rateLimited(guards.operator, new Throttle(2, 1, () => 0));
    const read = async (): Promise<unknown> => limited.admit(callWith({ Authorization: `Bearer ${TOKEN}` }));
    await read();
    await read();
    await expect(read()).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 1 });
  }
});
