/** What suites expect of many answers alike. */
import { expect } from "bun:test";
import type { Admin } from "./admin.ts";
import { Contract, type Document } from "./contract.ts";
import { type Answer, call, type Refusal } from "./http.ts";
import { type Options, type Server, startParley } from "./parley.ts";

export const INVALID = [400, "invalid_request"] as const;
export const NOT_FOUND = [404, "not_found"] as const;
export const CONFLICT = [409, "conflict"] as const;

/** What every answer has, and what none may have. */
export function expectFrame({ headers }: Pick<Answer, "headers">): void {
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
}

export function expectRefusal({ status, body }: Answer<unknown>, wanted: number, error: string): Refusal {
  expect({ status, body }).toEqual({ status: wanted, body: { error, message: expect.any(String) as string } });
  return body as Refusal;
}

/** A call of the control plane that must be refused; its message. */
export async function refused(
  admin: Admin,
  [status, error]: readonly [number, string],
  ...args: Parameters<Admin["call"]>
): Promise<string> {
  const answer = await admin.call(...args);
  expectRefusal(answer, status, error);
  return answer.body.message;
}

/** A server of whose control plane every answer is held against /openapi.json and the frame. */
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

/** A start that was refused: with a sentence for people, and not with where in our source it was thrown. */
export function expectSentence({ code, output }: { code: number; output: string }, ...parts: string[]): void {
  expect(code).toBeGreaterThan(0);
  for (const part of parts) expect(output).toContain(part);
  expect(output).not.toMatch(/^\s+at .*\.ts:\d+/m);
  expect(output).not.toContain("parley is ready");
}
