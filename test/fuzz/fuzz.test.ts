/** A sample of each fuzzer; run.ts runs them for longer. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { fuzzConnections } from "./connections.ts";
import { fuzzDecode } from "./decode.ts";
import { fuzzHttp } from "./http.ts";
import { fuzzNats } from "./nats.ts";

setDefaultTimeout(120_000);

/** The same in every run, so that a failure comes from a change; run.ts takes others. */
const SEED = 20_773;

test(`20,000 texts are decoded or refused, and none is misread (seed ${SEED})`, () => {
  const { accepted } = fuzzDecode(20_000, SEED);
  // Some accepted and some refused, or the run would prove nothing.
  expect(accepted).toBeGreaterThan(4000);
  expect(accepted).toBeLessThan(36_000);
});

test(`5,000 frames over connections neither end the server nor delay a healthy peer (seed ${SEED})`, async () => {
  const { frames, connects, pings } = await fuzzConnections(5000, SEED);
  expect(frames).toBeGreaterThanOrEqual(5000);
  expect(connects).toBeGreaterThan(5);
  expect(pings).toBeGreaterThan(0);
});

test(`10,000 texts of other nodes are decoded or refused, and what is accepted is well-typed (seed ${SEED})`, () => {
  const { accepted, unknownKinds } = fuzzNats(10_000, SEED);
  expect(accepted).toBeGreaterThan(1000);
  expect(accepted).toBeLessThan(9000);
  // The fuzzer generates every kind of item that nodes send: a kind that is never accepted is one that it no longer knows.
  expect(unknownKinds).toEqual([]);
});

test(`1,250 valid and invalid HTTP requests are answered as the document describes (seed ${SEED})`, async () => {
  const { frames, operations, byStatus, neverOk, healthyChecks } = await fuzzHttp(1250, SEED);
  expect(frames).toBeGreaterThanOrEqual(1250);
  expect(operations).toBeGreaterThan(35);
  expect(healthyChecks).toBeGreaterThan(0);
  // Some accepted and some refused, or the run would prove nothing.
  expect(byStatus["200"]).toBeGreaterThan(frames / 4);
  expect(byStatus["400"]).toBeGreaterThan(frames / 20);
  // A sample has few of these requests, and no peer is connected that could receive a message.
  expect(neverOk.length).toBeLessThan(operations / 3);
});
