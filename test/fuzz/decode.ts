/** `decodeFrame` compared with JSON.parse: it never throws or hangs, accepts exactly what it should, and loses nothing. */
import { deepStrictEqual } from "node:assert";
import { type ClientFrame, decodeFrame } from "../../src/protocol/frames.ts";
import { Chance } from "../support/random.ts";
import { checkGrowth, ownRssMib, soon } from "./bounds.ts";
import { anyText } from "./frames.ts";

export interface DecodeFigures {
  readonly frames: number;
  readonly accepted: number;
  readonly seconds: number;
}

/** Throws with the text that fails. */
export function fuzzDecode(frames: number, seed: number): DecodeFigures {
  const chance = new Chance(seed);
  const started = performance.now();
  let accepted = 0;
  let warmMib = 0;
  for (let i = 0; i < frames; i++) {
    const text = anyText(chance);
    if (i === Math.floor(frames / 4)) warmMib = ownRssMib();
    try {
      const frame = soon(() => decodeFrame(text));
      if ((frame !== undefined) !== isFrame(text)) throw new Error(frame ? "accepted" : "refused");
      if (!frame) continue;
      accepted++;
      check(frame, text);
    } catch (error) {
      throw new Error(`seed ${seed}, frame ${i}: ${JSON.stringify(text)}`, { cause: error });
    }
  }
  checkGrowth(warmMib);
  return { frames, accepted, seconds: (performance.now() - started) / 1000 };
}

/** The rule of protocol.md 2 in its simplest form. */
function isFrame(text: string): boolean {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return false;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { type, requestId } = value as Record<string, unknown>;
  if (typeof type !== "string") return false;
  if (requestId !== undefined && (typeof requestId !== "string" || requestId === "" || requestId.length > 128))
    return false;
  const keys = outermostKeys(text);
  return new Set(keys).size === keys.length;
}

/** For valid JSON. */
function outermostKeys(text: string): string[] {
  const keys: string[] = [];
  let depth = 0;
  for (const [token, string, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && colon && string) keys.push(JSON.parse(string));
  }
  return keys;
}

function check(frame: ClientFrame, text: string): void {
  const truth = JSON.parse(text) as Record<string, unknown>;
  const { data, fields, ...named } = frame;
  deepStrictEqual(fields, truth);
  for (const [name, value] of Object.entries(named))
    if (typeof value === "object") deepStrictEqual(value, truth[name]);
    else if (value !== truth[name]) throw new Error(`${name} is ${String(value)}`);
  if (data === undefined) {
    if (Object.hasOwn(truth, "data")) throw new Error("data is lost");
  } else if (!text.includes(data) || data.trim() !== data) throw new Error(`data is not a piece of the text: ${data}`);
  else if (JSON.stringify(JSON.parse(data)) !== JSON.stringify(truth.data)) throw new Error(`data is ${data}`);
}
