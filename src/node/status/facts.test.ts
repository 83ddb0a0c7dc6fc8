import { expect, test } from "bun:test";
import { hasLocalServers } from "./facts.ts";

test.each([
  ["", "", false],
  ["postgres://u:p@db/x", "nats://a,b", false],
  ["postgres://u:p@127.0.0.1/x", "", true],
  ["postgres://u:p@db/x", "nats://localhost:4222", true],
])("whether PostgreSQL %s or NATS %s is on this machine", (databaseUrl, natsUrl, isHere) => {
  expect(hasLocalServers({ databaseUrl, natsUrl })).toBe(isHere);
});
