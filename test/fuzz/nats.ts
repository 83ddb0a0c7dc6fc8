/** The decoders of messages from other nodes: they never throw, are never slow, and what they accept matches their types. */
import * as decode from "../../src/engine/cluster/wire/decode.ts";
import { Chance } from "../support/random.ts";
import { checkGrowth, ownRssMib, soon } from "./bounds.ts";
import { anyNatsText, KINDS } from "./nats-texts.ts";

export interface NatsFuzzResult {
  readonly frames: number;
  readonly accepted: number;
  readonly seconds: number;
  /** Kinds of which no unchanged text was accepted. Any entry means that the fuzzer does not know the format any more. */
  readonly unknownKinds: readonly string[];
}

type Decoder = (text: string) => unknown;

/** Every exported function of decode.ts takes a text. */
const DECODERS: readonly Decoder[] = Object.values(decode).filter((one) => typeof one === "function");

/** Passes each text to every decoder. Throws with the text that causes a failure. */
export function fuzzNats(frames: number, seed: number): NatsFuzzResult {
  const chance = new Chance(seed);
  const started = performance.now();
  const known = new Set<string>();
  let accepted = 0;
  let warmMib = 0;
  for (let i = 0; i < frames; i++) {
    const { text, whole } = anyNatsText(chance);
    try {
      const values = soon(() => decodeAll(text));
      for (const value of values) checkValue(value);
      if (values.length > 0) accepted++;
      if (whole !== undefined && values.length > 0) known.add(whole);
    } catch (error) {
      throw new Error(`seed ${seed}, text ${i}: ${JSON.stringify(text.slice(0, 5000))}`, { cause: error });
    }
    if (i === Math.floor(frames / 4)) warmMib = ownRssMib();
  }
  checkGrowth(warmMib);
  return {
    frames,
    accepted,
    seconds: (performance.now() - started) / 1000,
    unknownKinds: frames < 10_000 ? [] : KINDS.filter((kind) => !known.has(kind)),
  };
}

function decodeAll(text: string): unknown[] {
  const values: unknown[] = [];
  for (const one of DECODERS) {
    const value = one(text);
    if (value !== undefined) values.push(value);
  }
  return values;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isPeer = (value: unknown): boolean => typeof value === "string" && /^[\x20-\x7e]{1,128}$/.test(value);
const isText = (value: unknown): boolean => typeof value === "string";

/** What a field of that name must be in every message: checked without the decoder's own functions. */
const FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  kind: isText,
  what: isText,
  node: isText,
  app: (value) => value === undefined || isText(value),
  channel: isText,
  text: isText,
  epoch: isCount,
  n: isCount,
  number: isCount,
  part: isCount,
  parts: isCount,
  closed: isCount,
  taken: isCount,
  count: isCount,
  since: Number.isFinite,
  untilMs: Number.isFinite,
  // A map by application in a heartbeat, otherwise a number.
  connections: (value) => value instanceof Map || isCount(value),
  // A number in a request, a peer in a direct message.
  to: (value) => isCount(value) || isPeer(value),
  // A peer in a message, a position in a request; its fields are checked by name too.
  from: (value) => isPeer(value) || typeof value === "object",
  peerId: isPeer,
  isReconnected: (value) => typeof value === "boolean",
  isLate: (value) => value === undefined || typeof value === "boolean",
  isArriving: (value) => value === undefined || typeof value === "boolean",
  metadataJson: (value) => value === undefined || isObjectText(value),
  dataJson: isJsonText,
  items: (value) => value === undefined || (Array.isArray(value) && value.every(isText)),
  receivesFrom: (value) => Array.isArray(value) && value.every(isText),
  left: (value) => Array.isArray(value) && value.every(isPeer),
  peerIds: (value) => Array.isArray(value) && value.every(isPeer),
};

function checkValue(value: unknown): void {
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`a number is ${value}`);
  if (typeof value !== "object" || value === null) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (value instanceof Map) {
    for (const [key, one] of value) if (!isText(key) || !isCount(one)) throw new Error(`a map has ${String(key)}`);
    return;
  }
  if (Array.isArray(value)) {
    for (const one of value) checkValue(one);
    return;
  }
  if (prototype !== Object.prototype) throw new Error("an object has a prototype of its own");
  for (const [name, one] of Object.entries(value)) {
    if (FIELDS[name]?.(one) === false) throw new Error(`${name} is ${JSON.stringify(one)}`);
    checkValue(one);
  }
  const { part, parts } = value as Readonly<Record<string, unknown>>;
  if (typeof part === "number" && typeof parts === "number" && part >= parts) throw new Error(`part ${part}/${parts}`);
}

function isJsonText(value: unknown): boolean {
  try {
    return typeof value === "string" && JSON.parse(value) !== undefined;
  } catch {
    return false;
  }
}

function isObjectText(value: unknown): boolean {
  if (!isJsonText(value)) return false;
  const parsed: unknown = JSON.parse(String(value));
  return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
}
