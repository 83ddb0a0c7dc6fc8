import { expect, spyOn, test } from "bun:test";
import type { Operators } from "../../access/operators/operators.ts";
import { auditedChanges, guardOf, run } from "../testing/calls.ts";
import { operatorEndpoints } from "./operators.ts";

test("the name of an operator that is too long is not normalised: a pile of marks would take seconds", async () => {
  const guard = guardOf("admin");
  const guards = { operator: guard, admin: guard, stream: guard, observer: guard };
  const endpoints = operatorEndpoints(guards, {} as Operators, auditedChanges().audit);
  const normalize = spyOn(String.prototype, "normalize");
  const body = { name: `a${"\u0301".repeat(1000)}${"\u0316".repeat(1000)}`, role: "read" };
  const created = run(endpoints, { method: "POST", path: "/api/internal/v1/operators", body });
  await expect(created).rejects.toMatchObject({
    code: "invalid_request",
    message: "name: must have at most 64 characters",
  });
  expect(normalize).toHaveBeenCalledTimes(0);
  normalize.mockRestore();
});
