import { describe, expect, test } from "bun:test";
import { heartbeat } from "../wire/encode.ts";
import { VERSION } from "../wire/messages.ts";
import { OTHER_WIRES_MAX, OtherWires } from "./other-wires.ts";

function setup() {
  const state = { nowMs: 0 };
  const warnings: string[] = [];
  const wires = new OtherWires({ heartbeatMs: 1000, nowMs: () => state.nowMs, warn: (text) => warnings.push(text) });
  return { state, warnings, wires };
}

const beat = (node: string, wire = 3, about: object | null = { name: "b", version: "0.3.0" }): string =>
  JSON.stringify([wire, "beat", node, { further: "fields" }, ...(about ? [about] : [])]);

test("what this wire writes can be read by others: the node's name and its version are where they look", () => {
  const { wires } = setup();
  const own = {
    node: "n1",
    connections: new Map(),
    receivesFrom: [],
    isReconnected: false,
    part: 0,
    parts: 1,
    clockMs: 5,
    about: { name: "node-1", version: "0.2.0" },
  };
  const text = heartbeat(own);
  expect(text).toStartWith(`[${VERSION},"beat","n1",`);
  // As a node of another wire would see it.
  expect(wires.notes(text.replace(`[${VERSION},`, "[9,"))).toBe(true);
  expect(wires.names).toEqual(["node node-1 (Parley 0.2.0)"]);
});

test("a node of another wire is reported once, and again when it comes with another version", () => {
  const { warnings, wires } = setup();
  for (let times = 0; times < 5; times++) expect(wires.notes(beat("n2"))).toBe(true);
  expect(warnings).toEqual([
    `node b (Parley 0.3.0) uses version 3 of the messages between nodes, and this node version ${VERSION}: they ignore each other, and their clients cannot reach each other. Run the same version of Parley on all nodes`,
  ]);
  wires.notes(beat("n2", 4, { name: "b", version: "0.4.0" }));
  expect(warnings).toHaveLength(2);
  expect(wires.names).toEqual(["node b (Parley 0.4.0)"]);
});

test("it is forgotten when it says goodbye, or is silent for several heartbeats", () => {
  const { state, warnings, wires } = setup();
  wires.notes(beat("n2"));
  wires.notes('[3,"farewell","n2"]');
  expect(wires.names).toEqual([]);
  wires.notes(beat("n2"));
  state.nowMs = 3000;
  wires.sweep();
  expect(wires.names).toHaveLength(1);
  state.nowMs = 4000;
  wires.sweep();
  expect(wires.names).toEqual([]);
  expect(warnings).toHaveLength(2);
});

describe("what others may send", () => {
  test("further messages of another wire are ignored without a word", () => {
    const { warnings, wires } = setup();
    for (const text of ['[3,"message","n2","app","c",1,1]\n{}', '[3,"unknown"]', "[7]"])
      expect(wires.notes(text)).toBe(true);
    expect([warnings, wires.names]).toEqual([[], []]);
  });

  test.each(["", "{}", "no json", `[${VERSION},"beat","n2"]`, '["3","beat","n2"]', "[0]", "[-1]", "[1.5]", "[100000]"])(
    "%j is of no other wire",
    (text) => {
      expect(setup().wires.notes(text)).toBe(false);
    },
  );

  test("names that could be more than a name are not shown", () => {
    const { wires } = setup();
    wires.notes(beat("n2", 3, { name: "\u001b[31mred", version: "<b>" }));
    wires.notes(beat("n3", 3, null));
    expect(wires.names).toEqual(["node n2 (Parley of an unknown version)", "node n3 (Parley of an unknown version)"]);
  });

  test("their number is bounded", () => {
    const { warnings, wires } = setup();
    for (let at = 0; at < OTHER_WIRES_MAX + 10; at++) wires.notes(beat(`n${at}`));
    expect([wires.names.length, warnings.length]).toEqual([OTHER_WIRES_MAX, OTHER_WIRES_MAX]);
  });
});
