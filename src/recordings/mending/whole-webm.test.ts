import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beginning, concat, liveWebm } from "./testing/live-webm.ts";
import { wholeWebm } from "./whole-webm.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-whole-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function endOf(bytes: Uint8Array): Promise<number> {
  const path = join(folder, "file");
  writeFileSync(path, bytes);
  const file = await open(path, "r");
  return (await wholeWebm(file, bytes.length).finally(() => file.close())).end;
}

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
