/** docs/rest.md has every call of the control plane and of the dashboard, and marks those that need the role admin. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { readPage } from "./support/page.ts";

const ROOT = "/api/internal/v1";
const METHODS = ["get", "post", "put", "patch", "delete"] as const;

interface Operation {
  /** As the page writes it: `GET /apps/:app`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
}

let server: Server;
let operations: readonly Operation[];
beforeAll(async () => {
  server = await startParley();
  const { body } = await call<{ paths: Record<string, object> }>(`${server.url}/openapi.json`);
  operations = Object.entries(body.paths)
    .filter(([path]) => path.startsWith(ROOT) || path.startsWith("/dashboard"))
    .flatMap(([path, methods]) =>
      METHODS.filter((method) => method in methods).map((method) => ({
        name: `${method.toUpperCase()} ${path.replace(ROOT, "").replace(/\{(\w+)\}/g, ":$1")}`,
        method: method.toUpperCase(),
        path,
      })),
    );
});
afterAll(() => server.stop());

/** The calls in the first column of the page's tables, without their query, and whether "(admin)" stands behind them. */
function documented(): Map<string, boolean> {
  const calls = new Map<string, boolean>();
  for (const [, cell = ""] of readPage("docs/rest.md").matchAll(/^\| (`(?:GET|POST|PUT|PATCH|DELETE) [^|]*?) \|/gm)) {
    const found = [...cell.matchAll(/`([A-Z]+ [^`?]+)[^`]*`/g)];
    // In a cell of several calls, "(admin)" at its end stands for all of them, except reads.
    for (const [, name = ""] of found)
      calls.set(name, cell.includes("(admin)") && (found.length === 1 || !name.startsWith("GET ")));
  }
  return calls;
}

test("every call of the control plane is on the page", () => {
  const calls = documented();
  expect(operations.length).toBeGreaterThan(40);
  expect(operations.map(({ name }) => name).filter((name) => !calls.has(name))).toEqual([]);
});

test("the page marks exactly those calls that an operator of the role read may not make", async () => {
  const created = await call<{ token: string }>(`${server.url}${ROOT}/operators`, {
    bearer: server.adminToken,
    body: { name: "reader", role: "read" },
  });
  expect(created.status).toBe(200);
  const marked = documented();
  const wrong: string[] = [];
  for (const { name, method, path } of operations) {
    if (!path.startsWith(ROOT) || path.endsWith("/tail")) continue;
    const address = path.replace("{app}", "demo").replace(/\{\w+\}/g, "none");
    const { status } = await call(`${server.url}${address}`, {
      method,
      bearer: created.body.token,
      ...(method !== "GET" && { body: {} }),
    });
    if ((status === 403) !== marked.get(name)) wrong.push(`${name}: ${status}`);
  }
  expect(wrong).toEqual([]);
});
