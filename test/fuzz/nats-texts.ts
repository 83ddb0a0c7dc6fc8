/**
 * Messages between nodes: valid ones of every kind, and mutations of them. The functions of encode.ts are called by name and without
 * their types, so that a changed field there needs no change here: the decoder decides what is valid, and the test checks that
 * it accepts each kind.
 */
import * as encode from "../../src/engine/cluster/wire/encode.ts";
import type { Chance } from "../support/random.ts";
import { mutated, scraps, value } from "./frames.ts";

type Encoder = (...args: readonly unknown[]) => unknown;
type Make = (chance: Chance) => string;

const encoders = encode as unknown as Readonly<Record<string, unknown>>;

/** Empty when encode.ts has no such function any more: then no text of that kind is accepted, and the test names it. */
function write(name: string, ...args: readonly unknown[]): string {
  const encoder = encoders[name];
  return typeof encoder === "function" ? String((encoder as Encoder)(...args)) : "";
}

const NAMES = ["", "a", "node-1", "chat/1", "ü", "🙂", "a\nb", '"', "\u0000", "x".repeat(256), "__proto__", "\ud800"];
/** Most names of nodes are legal and most ids of applications short enough: otherwise little would be accepted. */
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

/** JSON text of an object. */
const metadata = (chance: Chance): string | undefined =>
  chance.pick([undefined, "{}", '{"name":"Ann"}', '{ "a" : [1, {"b":null}] }', '{"é":"🙂"}']);

const envelope = (chance: Chance): unknown => ({
  from: peer(chance),
  metadataJson: metadata(chance),
  dataJson: value(chance, 2, false),
});

const position = (chance: Chance): unknown => ({
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

const sequence = (chance: Chance): unknown => ({
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

const request =
  (make: (chance: Chance) => object): Make =>
  (chance) =>
    write("request", node(chance), make(chance));

const response =
  (make: (chance: Chance) => object): Make =>
  (chance) => {
    const parts = 1 + chance.below(5);
    return write("responsePart", { node: node(chance), part: chance.below(parts), parts, response: make(chance) });
  };

/** By kind; requests and responses also by their own kind. */
const ITEMS: Readonly<Record<string, Make>> = {
  message: (chance) => write("message", position(chance), envelope(chance)),
  members: (chance) => write("members", position(chance), { joined: list(chance, state), left: list(chance, peer) }),
  tail: (chance) => write("tail", position(chance)),
  heartbeat: (chance) =>
    write("heartbeat", {
      node: node(chance),
      connections: new Map(list(chance, (one) => [app(one), count(one)] as const)),
      receivesFrom: list(chance, node),
      isReconnected: chance.once(2),
      part: 0,
      parts: 1,
      clockMs: 1,
      list: {
        number: count(chance),
        ...(chance.once(2) && { added: list(chance, node), removed: list(chance, node) }),
      },
    }),
  count: (chance) => write("connectionCount", { node: node(chance), app: app(chance), connections: count(chance) }),
  farewell: (chance) => write("farewell", node(chance)),
  direct: (chance) =>
    write("directMessage", {
      node: node(chance),
      number: count(chance),
      app: app(chance),
      to: peer(chance),
      envelope: envelope(chance),
    }),
  delivered: (chance) => write("deliveryCount", { node: node(chance), count: count(chance) }),
  "request sequences": request((chance) => ({
    kind: "sequences",
    channels: list(chance, (one) => [app(one), name(one)] as const),
  })),
  "request replay": request((chance) => ({ kind: "replay", from: position(chance), to: count(chance) })),
  "request channels": request((chance) => ({ kind: "channels", app: app(chance) })),
  "request members": request((chance) => ({ kind: "members", app: app(chance), channel: name(chance) })),
  "request kick": request((chance) => ({ kind: "kick", app: app(chance), peerId: peer(chance) })),
  "request block": request((chance) => ({
    kind: "block",
    app: app(chance),
    peerId: peer(chance),
    untilMs: count(chance),
  })),
  "request capacity": request((chance) => ({ kind: "capacity", app: app(chance), number: count(chance) })),
  "request invalidate": request((chance) =>
    chance.once(2) ? { kind: "invalidate" } : { kind: "invalidate", app: app(chance) },
  ),
  "request deliver": request((chance) => ({ kind: "deliver", text: ITEMS.direct?.(chance) ?? "" })),
  "request text": request((chance) => ({ kind: "text", text: value(chance, 2, false) })),
  notification: (chance) => write("notification", node(chance), value(chance, 2, false)),
  "response text": response((chance) => ({ kind: "text", text: value(chance, 2, false) })),
  "response sequences": response((chance) => ({ kind: "sequences", sequences: list(chance, sequence, 2) })),
  "response replay": response((chance) => ({
    kind: "replay",
    items: chance.once(3) ? undefined : list(chance, (one) => ITEMS.message?.(one) ?? ""),
  })),
  "response channels": response((chance) => ({
    kind: "channels",
    counts: list(chance, channelCount),
    steps: count(chance),
  })),
  "response members": response((chance) => ({ kind: "members", members: list(chance, state) })),
  "response kick": response((chance) => ({ kind: "kick", closed: count(chance) })),
  "response block": response(() => ({ kind: "block" })),
  "response capacity": response((chance) => ({ kind: "capacity", taken: count(chance) })),
  "response invalidate": response((chance) => ({ kind: "invalidate", connections: count(chance) })),
  "response deliver": response((chance) => ({ kind: "deliver", count: count(chance), isLate: chance.once(2) })),
};

export const KINDS = Object.keys(ITEMS);

export interface NatsText {
  readonly text: string;
  /** The kind, if the text is unchanged as a node would write it. */
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
/** Longer than any text that a node sends. */
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

/** Valid JSON with one value replaced: such texts get furthest into a decoder. */
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

/** The beginning of one text with the end of another. */
const spliced = (chance: Chance, one: string, other: string): string =>
  one.slice(0, chance.below(one.length + 1)) + other.slice(chance.below(other.length + 1));

function huge(chance: Chance): string {
  const size = HUGE_CHARS - chance.below(400_000);
  const inside = chance.pick(['"x",', "[", '{"a":', "0,", "\\u0000", " ", '["p",1],']);
  return `[2,${chance.pick(['"members"', '"beat"', '"answer"', '"message"'])},"n","a","c",1,1,[${inside.repeat(Math.ceil(size / inside.length))}`;
}
