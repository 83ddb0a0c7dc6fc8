/** The judge finds what is planted, and nothing where nothing is. */
import { describe, expect, test } from "bun:test";
import { type Evidence, judge, type Piece, type Stored, type Write } from "./judge.ts";

const STREAM = "runs/1";
const offset = (nr: number, check = "c"): string => `${String(nr).padStart(16, "0")}_e.${check}${nr}`;
const row = (...values: string[]): Stored[] => values.map((value, at) => ({ offset: offset(at + 1), value }));
const write = (value: string, more: Partial<Write> = {}): Write => ({ values: [value], times: 1, next: "", ...more });

const STORED = row("a:0", "w:0", "a:1", "w:1", "a:2");
const PRODUCER: readonly Write[] = ["a:0", "a:1", "a:2"].map((value) => write(value, { times: 3 }));
const PLAIN: readonly Write[] = ["w:0", "w:1"].map((value) => write(value));
const PIECES: readonly Piece[] = [
  { to: offset(0), values: [] },
  { to: offset(2), values: ["a:0", "w:0"] },
  { to: offset(5), values: ["a:1", "w:1", "a:2"] },
];

interface Planted {
  readonly stored?: readonly Stored[];
  readonly producer?: readonly Write[];
  readonly plain?: readonly Write[];
  readonly pieces?: readonly Piece[];
  readonly complaints?: readonly string[];
}

function evidence({ stored = STORED, producer = PRODUCER, plain = PLAIN, pieces, complaints = [] }: Planted): Evidence {
  const whole =
    stored.length === 0 ? [] : [{ to: stored.at(-1)?.offset ?? "", values: stored.map(({ value }) => value) }];
  return {
    streams: new Map([[STREAM, stored]]),
    writings: [
      { writer: "a", stream: STREAM, isProducer: true, writes: producer, complaints: [] },
      { writer: "w", stream: STREAM, isProducer: false, writes: plain, complaints: [] },
    ],
    readings: [{ reader: "sse", stream: STREAM, from: offset(0), pieces: pieces ?? whole, complaints }],
  };
}

test("what is right has no problem", () => {
  expect(judge(evidence({ pieces: PIECES }))).toEqual([]);
  expect(judge(evidence({ producer: PRODUCER.map((one, at) => ({ ...one, next: offset(2 * at + 1) })) }))).toEqual([]);
});

test("a write without a producer that was sent twice may be stored twice; one that was never answered, not at all", () => {
  const stored = row("a:0", "w:0", "w:0", "a:1", "w:1", "a:2");
  expect(judge(evidence({ stored, plain: [write("w:0", { times: 2 }), write("w:1")] }))).toEqual([]);
  expect(judge(evidence({ plain: [...PLAIN, write("w:2", { next: undefined })] }))).toEqual([]);
});

const WRONG_STORES: Readonly<Record<string, readonly [Planted, RegExp]>> = {
  "a duplicate of a producer": [{ stored: row("a:0", "w:0", "a:1", "a:1", "w:1", "a:2") }, /a:1 .*is stored 2 times/],
  "a duplicate of an answered write": [
    { stored: row("a:0", "w:0", "a:1", "w:1", "a:2", "w:1") },
    /w:1 .*is stored 2 times/,
  ],
  "a lost value": [{ stored: row("a:0", "w:0", "w:1", "a:2") }, /a:1 was answered and is not stored/],
  "a lost value without a producer": [
    { stored: row("a:0", "a:1", "w:1", "a:2") },
    /w:0 was answered and is not stored/,
  ],
  "a swap": [{ stored: row("a:0", "w:0", "a:2", "w:1", "a:1") }, /a:2 is stored before an earlier one/],
  "a value of no one": [{ stored: [...STORED, { offset: offset(6), value: "?" }] }, /was never written/],
  "an offset that is left out": [{ stored: STORED.with(4, { offset: offset(6), value: "a:2" }) }, /is number 5/],
  "an answer before its value": [
    { plain: [write("w:0"), write("w:1", { next: offset(3) })] },
    /stored behind its answer/,
  ],
  "an answer of another stream": [{ plain: [write("w:0", { next: offset(2, "x") }), write("w:1")] }, /does not have/],
};

const WRONG_READINGS: Readonly<Record<string, readonly [readonly Piece[], RegExp]>> = {
  "a value twice": [
    [...PIECES.slice(0, 2), { to: offset(5), values: ["w:0", "a:1", "w:1", "a:2"] }],
    /4 values between 2/,
  ],
  "a piece twice": [[PIECES[1], PIECES[1], PIECES[2]] as Piece[], /2 values between 2/],
  "a gap": [[...PIECES.slice(0, 2), { to: offset(5), values: ["a:1", "a:2"] }], /2 values between 2/],
  "a gap between pieces": [[PIECES[0], PIECES[2]] as Piece[], /3 values between 0/],
  "a swap": [
    [PIECES[1], { to: offset(5), values: ["w:1", "a:1", "a:2"] }] as Piece[],
    /w:1 at 3, where the store has a:1/,
  ],
  "an end that is not reached": [PIECES.slice(0, 2), /ends at 2, the store at 5/],
  "more than there is": [[...PIECES, { to: offset(6), values: ["a:3"] }], /a:3 at 6, where the store has nothing/],
  "another message at the offset": [
    [{ to: offset(5, "x"), values: STORED.map(({ value }) => value) }],
    /does not have/,
  ],
};

describe("is found:", () => {
  for (const [name, [planted, problem]] of Object.entries(WRONG_STORES))
    test(`${name} in the store`, () => expect(judge(evidence(planted)).join("\n")).toMatch(problem));
  for (const [name, [pieces, problem]] of Object.entries(WRONG_READINGS))
    test(`${name} at a reader`, () => expect(judge(evidence({ pieces })).join("\n")).toMatch(problem));
  test("an answer that a client must not get", () =>
    expect(judge(evidence({ complaints: ["410"] }))).toEqual([`sse of ${STREAM}: 410`]));
});
