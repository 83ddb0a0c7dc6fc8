/** The text of a note about held members: JSON arrays that hold many members each. */
import { asSpaceId, type SpaceId } from "../../base/ids.ts";
import type { MemberState } from "../../engine/engine.ts";
import { isObject, parseStrict } from "../../protocol/json.ts";
import { isPeerId } from "../../protocol/names.ts";

export interface NotedMember {
  readonly spaceId: SpaceId;
  readonly peerId: string;
  /** `undefined`: the peer is expected back, whatever it subscribes to. */
  readonly channel: string | undefined;
  readonly keyId: string;
  readonly metadataJson: string | undefined;
  readonly stateJson: string | undefined;
  readonly since: number;
  /** The node of its connection; "" in notes of earlier versions, and where nothing depends on it. */
  readonly node: string;
}

const TEXT_CHARS = 500_000;

/** The part of both bounds that one application may use, so that the others have some left. */
const SHARE = 0.5;

/** What does not fit is left out: those members leave and join. */
export function writeNote(members: Iterable<NotedMember>, maxMembers: number, maxChars: number): string[] {
  const texts: string[] = [];
  const used = new Map<string, { count: number; chars: number }>();
  let some: string[] = [];
  let [chars, inText, count] = [0, 0, 0];
  for (const { spaceId, peerId, channel, keyId, metadataJson, stateJson, since, node } of members) {
    const line = JSON.stringify([spaceId, peerId, channel, keyId, metadataJson, stateJson, since, node]);
    const ofSpace = used.get(spaceId) ?? { count: 0, chars: 0 };
    if (ofSpace.count + 1 > maxMembers * SHARE || ofSpace.chars + line.length > maxChars * SHARE) continue;
    if (count + 1 > maxMembers || chars + line.length > maxChars) break;
    used.set(spaceId, { count: ofSpace.count + 1, chars: ofSpace.chars + line.length });
    count++;
    chars += line.length;
    some.push(line);
    inText += line.length;
    if (inText < TEXT_CHARS) continue;
    texts.push(`[${some.join()}]`);
    some = [];
    inText = 0;
  }
  return some.length > 0 ? [...texts, `[${some.join()}]`] : texts;
}

/** Lines that are not as this version writes them are left out: another version may have written the note. */
export function readNote(texts: readonly string[], maxMembers: number): NotedMember[] {
  return texts
    .flatMap((text) => {
      const lines: unknown = JSON.parse(text);
      return Array.isArray(lines) ? lines.flatMap(notedMember) : [];
    })
    .slice(0, maxMembers);
}

function notedMember(line: unknown): NotedMember[] {
  if (!Array.isArray(line)) return [];
  const [spaceId, peerId, channel, keyId, metadata, state, since, nodeName] = line as readonly unknown[];
  const [metadataJson, stateJson] = [objectText(metadata), objectText(state)];
  if (typeof spaceId !== "string" || !isPeerId(peerId) || typeof keyId !== "string" || typeof since !== "number")
    return [];
  const noted = { spaceId: asSpaceId(spaceId), peerId, keyId, metadataJson, stateJson, since };
  const node = typeof nodeName === "string" ? nodeName : "";
  return [{ ...noted, node, channel: typeof channel === "string" ? channel : undefined }];
}

/** Both are copied into frames, so they must be JSON of an object. */
function objectText(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const parsed = parseStrict(value);
  return parsed.ok && isObject(parsed.value) ? value : undefined;
}

export const stateOfNoted = (
  { peerId, metadataJson, stateJson, since, node, keyId }: NotedMember,
  untilMs: number,
): MemberState => ({ peerId, metadataJson, stateJson, since, node, lingers: { why: "held", untilMs, keyId } });
