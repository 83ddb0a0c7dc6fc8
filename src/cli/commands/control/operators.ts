/** `parley operators …` and `parley audit`: who may use the control plane, and what was changed. */
import { controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { fields, table, time } from "../../terminal/output.ts";

interface Operator {
  readonly _id: string;
  readonly name: string;
  readonly role: "admin" | "read";
  readonly created: number;
  readonly lastUsed: number | null;
  readonly revoked?: number;
  /** Only in the response to create. */
  readonly token?: string;
}

interface AuditEntry {
  readonly at: number;
  readonly who: string;
  readonly what: string;
  readonly on: string;
  readonly app: string | null;
  /** Absent if the server is of an earlier version. */
  readonly appName?: string | null;
  readonly address: string | null;
}

const ROOT = "/operators";
const AUDIT_MAX = 1000;
const AUDIT_DEFAULT = 50;

const describe = (operator: Operator): string =>
  fields({
    id: operator._id,
    name: operator.name,
    role: operator.role,
    created: time(operator.created),
    "last used": time(operator.lastUsed ?? undefined),
    revoked: time(operator.revoked),
    token: operator.token,
  });

export async function create(input: Input): Promise<CommandResult> {
  const role = input.oneOf("role", ["admin", "read"]);
  const operator = await controlPlane(input).post<Operator>(ROOT, { name: input.operand(0), role });
  return {
    value: operator,
    text: describe(operator),
    notes: ["Save the token now: it is not shown again. Commands read it from PARLEY_OPERATOR_TOKEN."],
  };
}

export async function list(input: Input): Promise<CommandResult> {
  const response = await controlPlane(input).getAll<Operator>(ROOT);
  if (response.data.length === 0)
    return { value: response.data, text: "", notes: ["There are no operators yet: only the admin token is in use."] };
  const rows = response.data.map(({ name, _id, role, created, lastUsed }) => [
    name,
    _id,
    role,
    time(created),
    time(lastUsed ?? undefined),
  ]);
  return { value: response.data, text: table(["NAME", "ID", "ROLE", "CREATED", "LAST USED"], rows) };
}

/** By id or name. */
export async function revoke(input: Input): Promise<CommandResult> {
  const server = controlPlane(input);
  const named = input.operand(0);
  const { data } = await server.getAll<Operator>(ROOT);
  const found = data.find(({ _id }) => _id === named) ?? data.find(({ name }) => name === named);
  if (!found)
    throw new Failure("not_found", `there is no operator ${JSON.stringify(named)}; see "parley operators list"`);
  await confirm(input, `revoke the operator ${found.name} and end its sessions`);
  const operator = await server.delete<Operator>(`${ROOT}/${found._id}`);
  return { value: operator, text: describe(operator), notes: ["Its token and its sessions have ended."] };
}

export async function audit(input: Input): Promise<CommandResult> {
  const limit = input.whole("limit") ?? AUDIT_DEFAULT;
  if (limit < 1 || limit > AUDIT_MAX) throw new UsageError(`--limit is ${limit}; allowed: 1 to ${AUDIT_MAX}`);
  const query = new URLSearchParams({ limit: String(limit) });
  for (const name of ["app", "who", "what", "after"]) {
    const value = input.text(name);
    if (value !== undefined) query.set(name, value);
  }
  const response = await controlPlane(input).get<{ data: AuditEntry[]; next: string | null }>(`/audit?${query}`);
  if (response.data.length === 0) return { value: response.data, text: "", notes: ["No changes match."] };
  const rows = response.data.map(({ at, who, what, on, app, appName, address }) => [
    time(at),
    who,
    what,
    on,
    appName ?? app,
    address,
  ]);
  return {
    value: response.data,
    text: table(["TIME", "WHO", { prose: "WHAT" }, "ON", "APP", "ADDRESS"], rows),
    notes: response.next === null ? [] : [`More entries: --after ${response.next}`],
  };
}
