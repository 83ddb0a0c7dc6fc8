/** Expectations that several suites share. */
import { expect } from "bun:test";
import type { Admin } from "./admin.ts";
import { Contract, type Document } from "./contract.ts";
import { type Answer, call, type Refusal } from "./http.ts";
import { type Options, type Server, startParley } from "./parley.ts";

export const INVALID = [400, "invalid_request"] as const;
export const NOT_FOUND = [404, "not_found"] as const;
export const CONFLICT = [409, "conflict"] as const;

/** JSON ends with a newline, except where a node of 0.1.0 may have answered (nodes.ts). */
const END_OF_JSON = process.env.PARLEY_TEST_NODES_BEFORE ? "" : "\n";

/** Headers that every response has, and headers that none may have. */
export function expectFrame({ headers, text = "" }: Pick<Answer, "headers"> & Partial<Pick<Answer, "text">>): void {
  if (text !== "" && headers.get("content-type")?.startsWith("application/json")) expect(text).toEndWith(END_OF_JSON);
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
}

export function expectRefusal({ status, body }: Answer<unknown>, wanted: number, error: string): Refusal {
  expect({ status, body }).toEqual({ status: wanted, body: { error, message: expect.any(String) as string } });
  return body as Refusal;
}

/** Expects a call of the control plane to be refused; returns the message. */
export async function refused(
  admin: Admin,
  [status, error]: readonly [number, string],
  ...args: Parameters<Admin["call"]>
): Promise<string> {
  const answer = await admin.call(...args);
  expectRefusal(answer, status, error);
  return answer.body.message;
}

/** A server whose control plane responses are all checked against /openapi.json and the common headers. */
export async function startChecked(options: Options = {}): Promise<Server> {
  const server = await startParley({ ...options, env: { PARLEY_REST_REQUESTS_PER_SECOND: "0", ...options.env } });
  const { body } = await call<Document>(`${server.url}/openapi.json`);
  const contract = new Contract(body);
  server.admin.observe = (method, path, answer) => {
    contract.check(method, path, answer);
    expectFrame(answer);
  };
  return server;
}

/** Expects a refused start: with a sentence for people, and without a stack trace. */
export function expectSentence({ code, output }: { code: number; output: string }, ...parts: string[]): void {
  expect(code).toBeGreaterThan(0);
  for (const part of parts) expect(output).toContain(part);
  expect(output).not.toMatch(/^\s+at .*\.ts:\d+/m);
  expect(output).not.toContain("parley is ready");
}
