import { expect, test } from "bun:test";
import { Call } from "../request/call.ts";
import { tlsAsk } from "./tls-ask.ts";

const asking = (options: { hasAdminListener: boolean }) =>
  tlsAsk({
    domain: "meet.example.com",
    publicUrl: ["https://rt.example.com:8443"],
    hasApp: (name) => name === "shop",
    ...options,
  });

interface Asked {
  readonly from?: string;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

/** 200, or the code of the refusal. */
function answer(ask: (call: Call) => object, query: string, { from = "127.0.0.1", headers = {}, method }: Asked = {}) {
  const request = new Request(`http://127.0.0.1/tls/ask${query}`, { headers, ...(method && { method }) });
  const connection = { address: () => from, setIdleSeconds: () => undefined };
  try {
    const value = ask(new Call(request, connection, { trustedProxies: [], domain: "meet.example.com" }, {}));
    expect(value).toEqual({ allowed: true });
    return 200;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test("hosts of applications and of the service get a certificate, and no others", () => {
  const ask = asking({ hasAdminListener: true });
  for (const host of ["shop.meet.example.com", "SHOP.Meet.Example.com", "meet.example.com", "rt.example.com"])
    expect([host, answer(ask, `?domain=${host}`, { from: "10.0.0.9" })]).toEqual([host, 200]);
  for (const host of [
    "",
    "none.meet.example.com",
    "a.shop.meet.example.com",
    "shop.meet.example.com:443",
    "shop.meet.example.com.",
    ".meet.example.com",
    "xmeet.example.com",
    "example.com",
    "127.0.0.1",
    "localhost",
  ])
    expect([host, answer(ask, `?domain=${host}`)]).toEqual([host, "not_found"]);
  expect(answer(ask, "")).toBe("not_found");
  expect(answer(ask, "?domain=shop.meet.example.com", { method: "POST" })).toBe("method_not_allowed");
});

test("on the public listener only a proxy on this machine may ask, not who comes through it", () => {
  const ask = asking({ hasAdminListener: false });
  const query = "?domain=shop.meet.example.com";
  expect(answer(ask, query)).toBe(200);
  expect(answer(ask, query, { from: "192.0.2.1" })).toBe("not_found");
  expect(answer(ask, query, { headers: { "X-Forwarded-For": "192.0.2.1" } })).toBe("not_found");
});
