import { expect, test } from "bun:test";
import { SQL } from "bun";
import { StandbyAnswered } from "./connections.ts";
import { ServerIdentity } from "./identity.ts";

/** A server that answers both questions, in this order. */
const server = (system: string | Error, timeline: string | null): SQL =>
  ((parts: TemplateStringsArray) => {
    const answer = parts[0]?.includes("pg_control_system") ? system : timeline;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve([{ value: answer }]);
  }) as unknown as SQL;

function setup() {
  const identity = new ServerIdentity();
  const state = { changes: 0 };
  identity.onChange(() => state.changes++);
  return { state, compare: (sql: SQL) => identity.compare(sql) };
}

test("a change of the system or of the timeline is reported once", async () => {
  const { state, compare } = setup();
  await compare(server("1", "00000001"));
  await compare(server("1", "00000001"));
  expect(state.changes).toBe(0);
  await compare(server("1", "00000002"));
  expect(state.changes).toBe(1);
  await compare(server("2", "00000002"));
  expect(state.changes).toBe(2);
  await compare(server("2", "00000002"));
  expect(state.changes).toBe(2);
});

test("a server that does not say what it is, is not compared", async () => {
  const { state, compare } = setup();
  const forbidden = new SQL.PostgresError("permission denied", {
    code: "ERR_POSTGRES_SERVER_ERROR",
    errno: "42501",
  } as never);
  await compare(server("1", "00000001"));
  await compare(server(forbidden, null));
  await compare(server("1", "00000001"));
  expect(state.changes).toBe(0);
  expect(compare(server(new Error("gone"), null))).rejects.toThrow("gone");
});

test("a standby is refused, and is not taken for another server", async () => {
  const { state, compare } = setup();
  await compare(server("1", "00000001"));
  await expect(compare(server("1", "standby"))).rejects.toBeInstanceOf(StandbyAnswered);
  await compare(server("1", "00000001"));
  expect(state.changes).toBe(0);
});
