import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beginning, concat, element, head, ID, liveWebm, number, size } from "../testing/live-webm.ts";
import { elementIn } from "./ebml.ts";
import { FileWindow } from "./file-window.ts";
import { type Whole, wholeWebm } from "./whole-webm.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-whole-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function wholeOf(bytes: Uint8Array): Promise<Whole> {
  const path = join(folder, "file");
  writeFileSync(path, bytes);
  const file = await open(path, "r");
  return wholeWebm(file, bytes.length).finally(() => file.close());
}

const endOf = async (bytes: Uint8Array): Promise<number> => (await wholeOf(bytes)).end;

/** The ids of the segment as the library reads them, which skips each element by its size; "lost" where it would have to search. */
async function shownOf(bytes: Uint8Array): Promise<string[]> {
  const { end, patches } = await wholeOf(bytes);
  const shown = Uint8Array.from(bytes.subarray(0, end));
  for (const patch of patches) shown.set(patch.bytes, patch.at);
  const path = join(folder, "shown");
  writeFileSync(path, shown);
  const file = await open(path, "r");
  const window = new FileWindow(file, end);
  await window.move(0);
  await file.close();
  const ids: string[] = [];
  for (let at = head().length + SEGMENT_HEAD_BYTES; at < end; ) {
    const element = elementIn(window, at);
    const name = typeof element === "object" && NAMES.get(element.id);
    if (typeof element !== "object" || !name) return [...ids, "lost"];
    ids.push(name);
    at = element.dataAt + (element.size ?? 0);
    // The library reads one of an unknown size element by element.
    for (; element.size === undefined; ) {
      const child = elementIn(window, at);
      if (typeof child !== "object" || NAMES.has(child.id)) break;
      at = child.dataAt + (child.size ?? 0);
    }
  }
  return ids;
}

const SEGMENT_HEAD_BYTES = 12;
const OF_SEGMENTS = {
  seekHead: ID.seekHead,
  info: ID.info,
  tracks: ID.tracks,
  cluster: ID.cluster,
  cues: ID.cues,
  attachments: 0x1941a469,
  chapters: 0x1043a770,
  tags: ID.tags,
};
const NAMES = new Map<number, string>(
  Object.entries({ ...OF_SEGMENTS, void: ID.void }).map(([name, id]) => [id, name] as const),
);

const repeated = (bytes: readonly number[], times: number): Uint8Array =>
  new Uint8Array(Array.from({ length: times }, () => bytes).flat());
const CLUSTER = [0x1f, 0x43, 0xb6, 0x75] as const;

test("a file ends before a cluster without a valid size, which the library would search forever", async () => {
  for (const before of [beginning(), liveWebm({ seconds: 2 })])
    expect(await endOf(concat(before, repeated([...CLUSTER, 0], 10)))).toBe(before.length);
});

test("a file that is broken in very many places ends at one of the first", async () => {
  const [before, broken] = [beginning(), [...CLUSTER, 0xff, 0x81, 0x80]];
  expect(await endOf(concat(before, repeated(broken, 100_000)))).toBeLessThan(before.length + 110 * broken.length);
});

test.each(Object.entries(OF_SEGMENTS))(
  "the id of %s without a valid size ends a file, and is skipped before a whole element",
  async (_name, id) => {
    const before = liveWebm({ seconds: 2 });
    const broken = concat(number(id), [0, 0, 0, 0]);
    expect(await endOf(concat(before, broken, new Uint8Array(50)))).toBe(before.length);
    const cluster = element(ID.cluster, element(ID.timestamp, number(9000)));
    const expected = [...(await shownOf(before)), "void", "cluster"];
    expect(expected).not.toContain("lost");
    expect(await shownOf(concat(before, broken, cluster))).toEqual(expected);
    // The same bytes, in junk.
    expect(await shownOf(concat(before, new Uint8Array(33), broken, new Uint8Array(9), cluster))).toEqual(expected);
  },
);

test("the library is shown clusters with the size of what is in them, and no index", async () => {
  const block = element(ID.simpleBlock, new Uint8Array([0x81, 0, 0, 0x80, 1, 2, 3]));
  const cluster = (bytes: number): Uint8Array =>
    element(ID.cluster, concat(element(ID.timestamp, number(9000)), block), size(bytes));
  const actual = cluster(0).length - 12;
  const before = concat(beginning(), element(ID.seekHead, new Uint8Array(20)), element(ID.cues, new Uint8Array(3)));
  for (const claimed of [actual - 3, actual + 30])
    expect(await shownOf(concat(before, cluster(claimed), cluster(actual)))).toEqual([
      ...(await shownOf(beginning())),
      "void",
      "void",
      "cluster",
      "cluster",
    ]);
});
