import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { LaneItem } from "./encode.ts";
import { Ears, WAITING_MAX_CHARS } from "./incoming-streams.ts";

const place = (n: number, epoch = 1) => ({ node: "b", app: "app", channel: "c", epoch, n });
const said = (n: number, epoch = 1): LaneItem => ({
  kind: "message",
  place: place(n, epoch),
  envelope: { from: "x", metadataJson: undefined, dataJson: `"${epoch}.${n}"` },
});
const stands = (n: number, epoch = 1) => ({ app: "app", channel: "c", epoch, n, members: [] });

function listening() {
  const heard: string[] = [];
  const asked: string[] = [];
  const unsure: string[] = [];
  const ears = new Ears({
    heard: (_node, item) => heard.push(item.kind === "message" ? item.envelope.dataJson : item.kind),
    missing: ({ n, epoch }, to) => asked.push(`${epoch}: ${n}–${to}`),
    unsure: (node) => unsure.push(node),
  });
  const open = (n: number, epoch = 1) => ears.state("b", stands(n, epoch), () => heard.push("agreed"));
  return { ears, heard, asked, unsure, open };
}

describe("before a node has said where its lane stands", () => {
  test("what comes waits; for who begins to listen only what is behind the answer comes, in order", () => {
    const { ears, heard } = listening();
    for (const n of [3, 5, 4]) ears.item(said(n));
    expect(heard).toEqual([]);
    ears.begin("b", stands(3));
    expect(heard).toEqual(['"1.4"', '"1.5"']);
  });

  test("who listened already gets every message that came, but no change of members that the answer holds", () => {
    const { ears, heard, asked, open } = listening();
    const joined: LaneItem = { kind: "members", place: place(4), change: { joined: [], left: ["x"] } };
    for (const item of [said(3), joined, said(5), said(7), said(9)]) ears.item(item);
    open(8);
    expect([heard, asked]).toEqual([
      ["agreed", '"1.3"', '"1.5"'],
      ["1: 6–6", "1: 8–8"],
    ]);
    ears.again([said(6), said(8)]);
    expect(heard).toEqual(["agreed", '"1.3"', '"1.5"', '"1.6"', '"1.7"', '"1.8"', '"1.9"']);
  });
});

describe("a number that is missing", () => {
  test("is asked for once, and what is behind it waits", () => {
    const { ears, heard, asked, open } = listening();
    open(0);
    for (const n of [1, 4, 5]) ears.item(said(n));
    expect([heard, asked]).toEqual([["agreed", '"1.1"'], ["1: 2–3"]]);
    ears.again([said(2), said(3)]);
    expect(heard).toEqual(["agreed", '"1.1"', '"1.2"', '"1.3"', '"1.4"', '"1.5"']);
  });

  test("at the end is found by the last number that is repeated, and only if it is missing", () => {
    const { ears, asked, open } = listening();
    open(0);
    ears.item(said(1));
    ears.item({ kind: "tail", place: place(1) });
    expect(asked).toEqual([]);
    ears.item({ kind: "tail", place: place(3) });
    ears.item({ kind: "tail", place: place(3) });
    expect(asked).toEqual(["1: 2–3"]);
  });

  test("that cannot be had makes the node unsure: nothing is let through until it has said where it stands", () => {
    const { ears, heard, unsure, open } = listening();
    open(0);
    ears.item(said(3));
    ears.givenUp("b");
    ears.item(said(4));
    expect([unsure, heard]).toEqual([["b"], ["agreed"]]);
    open(3);
    expect(heard).toEqual(["agreed", "agreed", '"1.4"']);
  });
});

test("what waits behind a gap is bounded in size: beyond it the gap is given up", () => {
  const { ears, heard, unsure, open } = listening();
  open(0);
  const dataJson = JSON.stringify("x".repeat(WAITING_MAX_CHARS / 8));
  const large = (n: number): LaneItem => ({
    kind: "message",
    place: place(n),
    envelope: { from: "x", metadataJson: undefined, dataJson },
  });
  for (let n = 2; n < 9; n++) ears.item(large(n));
  expect(unsure).toEqual([]);
  ears.item(large(9));
  expect([heard, unsure]).toEqual([["agreed"], ["b"]]);
});

describe("a lane that begins anew", () => {
  test("begins with 1", () => {
    const { ears, heard, asked, open } = listening();
    open(7);
    ears.item(said(1, 2));
    ears.item(said(2, 2));
    ears.item(said(8, 1));
    expect([heard, asked]).toEqual([["agreed", '"2.1"', '"2.2"'], []]);
  });

  test("whose beginning was missed is asked for from 1 on", () => {
    const { ears, asked, open } = listening();
    open(7);
    ears.item(said(3, 2));
    expect(asked).toEqual(["2: 1–2"]);
  });
});

describe("an epoch that somebody else has made up", () => {
  const forged = Number.MAX_SAFE_INTEGER;

  test.each([0, 1])("silences nobody: the node is asked, and what it gave is heard (item %d)", (n) => {
    const { ears, heard, unsure, open } = listening();
    open(1);
    ears.item({ kind: "tail", place: place(0, forged) });
    if (n > 0) ears.item(said(n, forged));
    heard.length = 0;
    ears.item(said(2));
    ears.item(said(3));
    expect([heard, unsure]).toEqual([[], ["b"]]);
    open(3);
    ears.item(said(4));
    expect([heard, unsure]).toEqual([["agreed", '"1.2"', '"1.3"', '"1.4"'], ["b"]]);
  });

  test("that is refuted leaves the lane where it was, and what was missed meanwhile is asked for", () => {
    const { ears, heard, asked, open } = listening();
    open(1);
    ears.item(said(7, forged));
    expect(asked).toEqual([`${forged}: 1–6`]);
    ears.refuted("b", stands(3), () => heard.push("agreed"));
    expect(asked).toEqual([`${forged}: 1–6`, "1: 2–3"]);
    ears.again([said(2), said(3)]);
    ears.item(said(4));
    expect(heard).toEqual(["agreed", "agreed", '"1.2"', '"1.3"', '"1.4"']);
  });

  test("a number that is refuted neither", () => {
    const { ears, heard, open } = listening();
    open(1);
    ears.item(said(forged));
    ears.item(said(2));
    ears.refuted("b", stands(2), () => heard.push("agreed"));
    ears.item(said(3));
    expect(heard).toEqual(["agreed", '"1.2"', "agreed", '"1.3"']);
  });

  test("one that the node confirms is its own: what is of the earlier one is dropped", () => {
    const { ears, heard, unsure, open } = listening();
    open(1);
    ears.item(said(1, 2));
    ears.item(said(2));
    open(1, 2);
    ears.item(said(3));
    ears.item(said(2, 2));
    expect([heard, unsure]).toEqual([["agreed", '"2.1"', "agreed", '"2.2"'], ["b"]]);
  });
});

describe("where a lane stands, said again", () => {
  test("is agreed with when nothing was missed", () => {
    const { heard, open, ears } = listening();
    open(1);
    ears.item(said(2));
    open(2);
    expect(heard).toEqual(["agreed", '"1.2"', "agreed"]);
  });

  test("does not undo what was heard since", () => {
    const { heard, open, ears } = listening();
    open(1);
    ears.item(said(2));
    open(1);
    expect(heard).toEqual(["agreed", '"1.2"']);
  });

  test("tells of what was missed", () => {
    const { asked, open } = listening();
    open(1);
    open(4);
    expect(asked).toEqual(["1: 2–4"]);
  });
});

test("whatever is lost, doubled or late, with repairs everything is heard once and in order", () => {
  const arrivals = fc.array(fc.record({ n: fc.integer({ min: 1, max: 30 }), isTail: fc.boolean() }), { maxLength: 80 });
  fc.assert(
    fc.property(arrivals, fc.boolean(), (list, isLate) => {
      const heard: number[] = [];
      const repairs: (() => void)[] = [];
      const ears: Ears = new Ears({
        heard: (_node, item) => heard.push(item.place.n),
        missing: ({ n }, to) => {
          const again = (): void => ears.again(Array.from({ length: to - n + 1 }, (_, i) => said(n + i)));
          if (isLate) repairs.push(again);
          else again();
        },
        unsure: () => undefined,
      });
      ears.state("b", stands(0), () => undefined);
      for (const { n, isTail } of list) ears.item(isTail ? { kind: "tail", place: place(n) } : said(n));
      for (let at = 0; at < repairs.length; at++) repairs[at]?.();
      const most = Math.max(0, ...list.map(({ n }) => n));
      expect(heard).toEqual(Array.from({ length: most }, (_, i) => i + 1));
    }),
  );
});
