/**
 * What nodes write to each other: valid items of every kind, and mutations of them. The writers of wire.ts are called by
 * name and without their types, so that a change of one field over there is not a change here: whether what is made is
 * valid is what the decoder says, and the test holds that each kind is accepted.
 */
import * as wire from "../../src/engine/cluster/encode.ts";
import { mutated, scraps, value } from "./frames.ts";
import type { Chance } from "./random.ts";

type Writer = (...args: readonly unknown[]) => unknown;
type Make = (chance: Chance) => string;

const writers = wire as unknown as Readonly<Record<string, unknown>>;

/** Empty where wire.ts has no such writer any more: then the kind is not accepted, and the test says which. */
function write(name: string, ...args: readonly unknown[]): string {
  const writer = writers[name];
  return typeof writer === "function" ? String((writer as Writer)(...args)) : "";
}

const NAMES = ["", "a", "node-1", "chat/1", "ü", "🙂", "a\nb", '"', "\u0000", "x".repeat(256), "__proto__", "\ud800"];
/** Most are legal names of nodes, and most ids of applications short enough: else little would be accepted. */
const NODES = ["a", "node-1", "5f0c1d9e-8a55-4f0b-9a53-0c6e6f7f0b11", "n~2", "x".repeat(64)];
const APPS = ["", "a", "01a1e127e94a3d8aa6c4dca6", "ü", '"', "__proto__", "x".repeat(128)];
const PEERS = ["ann", "bob", "x".repeat(128), " ", "~", "a b", '"\\'];
const COUNTS = [0, 1, 2, 7, 1000, 2 ** 31, 2 ** 53 - 1];

const name = (chance: Chance): string => chance.pick(NAMES);
const node = (chance: Chance): string => (chance.once(20) ? name(chance) : chance.pick(NODES));
const app = (chance: Chance): string => (chance.once(20) ? name(chance) : chance.pick(APPS));
const peer = (chance: Chance): string => chance.pick(PEERS);
const count = (chance: Chance): number => chance.pick(COUNTS);

function list<T>(chance: Chance, one: (chance: Chance) => T, most = 4): T[] {
  return Array.from({ length: chance.below(most + 1) }, () => one(chance));
}

/** An object as text. */
const metadata = (chance: Chance): string | undefined =>
  chance.pick([undefined, "{}", '{"name":"Ann"}', '{ "a" : [1, {"b":null}] }', '{"é":"🙂"}']);

const envelope = (chance: Chance): unknown => ({
  from: peer(chance),
  metadataJson: metadata(chance),
  dataJson: value(chance, 2, false),
});

const place = (chance: Chance): unknown => ({
  node: node(chance),
  app: app(chance),
  channel: name(chance),
  epoch: count(chance),
  n: count(chance),
});

const state = (chance: Chance): unknown => ({
  peerId: peer(chance),
  since: chance.pick([0, 1.5, 1_700_000_000_000, -1]),
  metadataJson: metadata(chance),
  ...(chance.once(4) && { isArriving: true }),
});

const lane = (chance: Chance): unknown => ({
  app: app(chance),
  channel: name(chance),
  epoch: count(chance),
  n: count(chance),
  members: list(chance, state),
});

const channelCount = (chance: Chance): unknown => ({
  channel: name(chance),
  peerIds: list(chance, peer),
  connections: count(chance),
});

const question =
  (make: (chance: Chance) => object): Make =>
  (chance) =>
    write("question", node(chance), make(chance));

const answer =
  (make: (chance: Chance) => object): Make =>
  (chance) => {
    const parts = 1 + chance.below(5);
    return write("answered", { node: node(chance), part: chance.below(parts), parts, answer: make(chance) });
  };

/** By kind; of a question or an answer also what it is about. */
export const ITEMS: Readonly<Record<string, Make>> = {
  message: (chance) => write("message", place(chance), envelope(chance)),
  members: (chance) => write("members", place(chance), { joined: list(chance, state), left: list(chance, peer) }),
  tail: (chance) => write("tail", place(chance)),
  beat: (chance) =>
    write("beat", {
      node: node(chance),
      connections: new Map(list(chance, (one) => [app(one), count(one)] as const)),
      hears: list(chance, node),
      isBack: chance.once(2),
      part: 0,
      parts: 1,
    }),
  count: (chance) => write("count", node(chance), app(chance), count(chance)),
  farewell: (chance) => write("farewell", node(chance)),
  direct: (chance) =>
    write("direct", {
      node: node(chance),
      number: count(chance),
      app: app(chance),
      to: peer(chance),
      envelope: envelope(chance),
    }),
  handed: (chance) => write("handed", node(chance), count(chance)),
  "question who": question((chance) => ({
    what: "who",
    channels: list(chance, (one) => [app(one), name(one)] as const),
  })),
  "question again": question((chance) => ({ what: "again", place: place(chance), to: count(chance) })),
  "question channels": question((chance) => ({ what: "channels", app: app(chance) })),
  "question members": question((chance) => ({ what: "members", app: app(chance), channel: name(chance) })),
  "question kick": question((chance) => ({ what: "kick", app: app(chance), peerId: peer(chance) })),
  "question block": question((chance) => ({
    what: "block",
    app: app(chance),
    peerId: peer(chance),
    untilMs: count(chance),
  })),
  "question room": question((chance) => ({ what: "room", app: app(chance), n: count(chance) })),
  "question look": question((chance) => (chance.once(2) ? { what: "look" } : { what: "look", app: app(chance) })),
  "question hand": question((chance) => ({ what: "hand", text: ITEMS.direct?.(chance) ?? "" })),
  "answer who": answer((chance) => ({ what: "who", lanes: list(chance, lane, 2) })),
  "answer again": answer((chance) => ({
    what: "again",
    items: chance.once(3) ? undefined : list(chance, (one) => ITEMS.message?.(one) ?? ""),
  })),
  "answer channels": answer((chance) => ({ what: "channels", counts: list(chance, channelCount) })),
  "answer members": answer((chance) => ({ what: "members", members: list(chance, state) })),
  "answer kick": answer((chance) => ({ what: "kick", closed: count(chance) })),
  "answer block": answer(() => ({ what: "block" })),
  "answer room": answer((chance) => ({ what: "room", taken: count(chance) })),
  "answer look": answer((chance) => ({ what: "look", connections: count(chance) })),
  "answer hand": answer((chance) => ({ what: "hand", count: count(chance), isLate: chance.once(2) })),
};

export const KINDS = Object.keys(ITEMS);

export interface NatsText {
  readonly text: string;
  /** The kind, where it is one as a node would write it. */
  readonly whole: string | undefined;
}

const PIECES = [
  "[",
  "]",
  "{",
  "}",
  ",",
  '"',
  "\n",
  "null",
  "-1",
  "1e999",
  "[2,",
  '"message"',
  '"what":',
  "\u0000",
  "{}",
];
/** Longer than anything that a node sends. */
const HUGE_CHARS = 1_100_000;
const HUGE_EVERY = 200_000;

export function anyNatsText(chance: Chance): NatsText {
  if (chance.once(HUGE_EVERY)) return { text: huge(chance), whole: undefined };
  const kind = chance.pick(KINDS);
  const text = ITEMS[kind]?.(chance) ?? "";
  switch (chance.below(10)) {
    case 0:
    case 1:
      return { text, whole: kind };
    case 2:
      return { text: scraps(chance, PIECES), whole: undefined };
    case 3:
      return { text: chance.bytes(chance.below(80)).toString(chance.once(2) ? "utf8" : "latin1"), whole: undefined };
    case 4:
      return { text: fieldsMutated(chance, text), whole: undefined };
    case 5:
      return { text: spliced(chance, text, ITEMS[chance.pick(KINDS)]?.(chance) ?? ""), whole: undefined };
    default:
      return { text: mutated(chance, text), whole: undefined };
  }
}

/** Still JSON, and one of its values is something else: what gets furthest into a decoder. */
function fieldsMutated(chance: Chance, text: string): string {
  const end = text.indexOf("\n");
  let parsed: unknown;
  try {
    parsed = JSON.parse(end < 0 ? text : text.slice(0, end));
  } catch {
    return text;
  }
  return JSON.stringify(replaceOne(chance, parsed)) + (end < 0 ? "" : text.slice(end));
}

const WRONG: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  2 ** 53,
  1e300,
  "",
  "x",
  "\ud800",
  "x".repeat(129),
  [],
  {},
  [[]],
  [null],
  { what: "who" },
  "__proto__",
  "{",
];

function replaceOne(chance: Chance, whole: unknown): unknown {
  if (typeof whole !== "object" || whole === null || chance.once(4)) return chance.pick(WRONG);
  const entries = Object.entries(whole);
  if (entries.length === 0) return chance.pick(WRONG);
  const at = chance.below(entries.length);
  const replaced = entries.map(([key, one], index): [string, unknown] => [
    key,
    index === at ? replaceOne(chance, one) : one,
  ]);
  if (Array.isArray(whole)) {
    const values = replaced.map(([, one]) => one);
    if (chance.once(6)) values.splice(at, 1);
    return values;
  }
  return Object.fromEntries(chance.once(6) ? replaced.toSpliced(at, 1) : replaced);
}

/** The head of one on the tail of another. */
const spliced = (chance: Chance, one: string, other: string): string =>
  one.slice(0, chance.below(one.length + 1)) + other.slice(chance.below(other.length + 1));

function huge(chance: Chance): string {
  const size = HUGE_CHARS - chance.below(400_000);
  const inside = chance.pick(['"x",', "[", '{"a":', "0,", "\\u0000", " ", '["p",1],']);
  return `[2,${chance.pick(['"members"', '"beat"', '"answer"', '"message"'])},"n","a","c",1,1,[${inside.repeat(Math.ceil(size / inside.length))}`;
}
