import { expect, test } from "bun:test";
import { PipelinedRequests } from "./pipelined.ts";

const REQUEST = new Request("http://localhost/a");
const from = (port: number) => ({ requestIP: () => ({ address: "203.0.113.7", family: "IPv4" as const, port }) });
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** How many of its requests are accepted, of very many. */
function accepted(pipelined: PipelinedRequests, port: number): number {
  let count = 0;
  while (count < 1000 && !pipelined.areTooMany(REQUEST, from(port))) count++;
  return count;
}

test("a connection has a few requests in a turn, and again in the next one", async () => {
  const pipelined = new PipelinedRequests();
  for (let turn = 0; turn < 3; turn++) {
    // The first ones of a turn are not counted by connection.
    expect(accepted(pipelined, 1)).toBe(32);
    expect(accepted(pipelined, 1)).toBe(0);
    expect(accepted(pipelined, 2)).toBe(16);
    await nextTurn();
  }
});

test("many connections with one request each are all accepted", () => {
  const pipelined = new PipelinedRequests();
  for (let port = 1; port <= 1000; port++) expect(pipelined.areTooMany(REQUEST, from(port))).toBe(false);
});

test("connections that have ended are not counted", () => {
  const ended = { requestIP: () => null };
  const pipelined = new PipelinedRequests();
  for (let i = 0; i < 100; i++) expect(pipelined.areTooMany(REQUEST, ended)).toBe(false);
});
