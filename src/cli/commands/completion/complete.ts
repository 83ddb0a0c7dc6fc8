/** `parley complete`: what the scripts of `parley completion` ask with each Tab. It changes nothing, and answers within half a second. */
import { controlPlane } from "../../calls/client.ts";
import { contexts } from "../../calls/contexts.ts";
import type { CommandResult } from "../../line/command.ts";
import { Input } from "../../line/input.ts";
import { type Candidate, type Place, placeOf } from "./candidates.ts";

/** The person who presses Tab waits for it. */
const SERVICE_MAX_MS = 500;
const MEANING_MAX_CHARS = 80;
/** More than a person looks through. */
const CANDIDATES_MAX = 500;

export async function complete({ operands, env }: Input): Promise<CommandResult> {
  const place = placeOf(operands);
  const { kind } = place.wanted;
  const adds = kind === "files" || kind === "folders" ? kind : "none";
  const candidates = (await candidatesOf(place, env).catch(() => []))
    .filter(({ word }) => word.startsWith(place.typed))
    .slice(0, CANDIDATES_MAX)
    .map(({ word, meaning }) => ({ word: `${place.before}${word}`, meaning: meaning.slice(0, MEANING_MAX_CHARS) }));
  const lines = candidates.map(({ word, meaning }) => `${word}\t${meaning}\n`);
  return { value: { adds, candidates }, text: `${adds}\n${lines.join("")}` };
}

async function candidatesOf({ wanted, service }: Place, env: Input["env"]): Promise<readonly Candidate[]> {
  if (wanted.kind === "known") return wanted.candidates;
  if (wanted.kind === "contexts") return contexts(env).map(({ name, url }) => ({ word: name, meaning: url }));
  if (wanted.kind === "apps") return Promise.race([apps(service, env), noneInTime()]);
  return [];
}

/** Nothing is asked and nothing is made: without a token there are no names. */
async function apps(service: Place["service"], env: Input["env"]): Promise<readonly Candidate[]> {
  const input = new Input([], new Map([...service, ["quiet", "on"]]), env);
  const { data } = await controlPlane(input).get<{ data: { name: string }[] }>("/apps");
  return data.map(({ name }) => ({ word: name, meaning: "application" })).filter(({ word }) => /^[\w-]+$/.test(word));
}

const noneInTime = (): Promise<readonly Candidate[]> => Bun.sleep(SERVICE_MAX_MS).then(() => []);
