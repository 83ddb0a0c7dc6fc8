/** For tests: endpoints called as an operator of a given role, without a server, and the changes that they audit. */
import type { Operator, Role } from "../../access/operators/operator.ts";
import { Call } from "../request/call.ts";
import type { Endpoint, Guard, Method } from "../server/endpoint.ts";
import type { Audit, AuditedChange } from "../shared/audit.ts";

const operatorOf = (role: Role): Operator => ({ name: role, role, revoked: new AbortController().signal });

export const guardOf = (role: Role): Guard<Operator> => ({
  security: "admin",
  admit: () => operatorOf(role),
  recheck: () => operatorOf(role),
});

/** Keeps what was audited. */
export function auditedChanges(): { readonly audit: Audit; readonly changes: AuditedChange[] } {
  const changes: AuditedChange[] = [];
  return { changes, audit: async (_call, _operator, change) => void changes.push(change) };
}

export interface TestCall {
  readonly method: Method;
  readonly path: string;
  readonly params?: Readonly<Record<string, string>>;
  /** With the question mark. */
  readonly query?: string;
  readonly body?: object;
  /** The client. */
  readonly address?: string;
}

/** Runs the endpoint that is declared with this method and path. */
export async function run(endpoints: readonly Endpoint[], wanted: TestCall): Promise<object> {
  const found = endpoints.find(({ method, path }) => method === wanted.method && path === wanted.path);
  if (!found) throw new Error(`there is no ${wanted.method} ${wanted.path}`);
  const request = new Request(`http://localhost/${wanted.query ?? ""}`, {
    method: wanted.method,
    ...(wanted.body && { body: JSON.stringify(wanted.body), headers: { "Content-Type": "application/json" } }),
  });
  const connection = { address: () => wanted.address ?? "192.0.2.1", setIdleSeconds: () => undefined };
  return found.run(new Call(request, connection, { trustedProxies: [], domain: "localhost" }, wanted.params ?? {}));
}
