/** `kill -9` at every step of mending: what is listed has its whole file, nothing is lost, and nothing is left over. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface State {
  readonly isListed: boolean;
  readonly isMended: boolean | null;
  readonly bytes?: string;
  readonly files: number;
}

interface Printed {
  readonly before: State;
  readonly after: State;
  readonly calls: number;
}

const SERVICE = join(import.meta.dir, "testing/mend-and-die.ts");
const LISTED: State = { isListed: true, isMended: true, bytes: "mended", files: 1 };
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => void rmSync(folder, { recursive: true, force: true })));

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-kills-"));
  folders.push(folder);
  return folder;
}

/** undefined: it was killed. */
async function run(data: string, dieAt: number): Promise<Printed | undefined> {
  const child = Bun.spawn([process.execPath, "--no-env-file", SERVICE, data, String(dieAt)], {
    stdio: ["ignore", "pipe", "inherit"],
    // What it leaves behind when it is killed goes with the folder.
    env: { ...process.env, TMPDIR: data },
  });
  const text = await child.stdout.text();
  if ((await child.exited) === 0) return JSON.parse(text) as Printed;
  expect(child.signalCode).toBe("SIGKILL");
  return undefined;
}

test("killed before and after every call to the store, the storage and the mender", async () => {
  const calls = (await run(newFolder(), 0))?.calls ?? 0;
  expect(calls).toBeGreaterThan(12);
  // Outside full runs, every fourth has its turn by days.
  const [every, first] = process.env.PARLEY_TEST_FULL ? [1, 1] : [4, 1 + (Math.floor(Date.now() / 86_400_000) % 4)];
  for (let dieAt = first; dieAt <= calls; dieAt += every) {
    const data = newFolder();
    expect(await run(data, dieAt)).toBeUndefined();
    const next = await run(data, 0);
    expect({ dieAt, after: next?.after }).toEqual({ dieAt, after: LISTED });
    if (next?.before.isListed) expect(next.before.bytes).toBe("mended");
  }
}, 120_000);

test("a service that dies three times over the same file lists it as it came", async () => {
  const data = newFolder();
  const isNoted = async (): Promise<Printed | undefined> => run(data, 12);
  for (let i = 0; i < 3; i++) expect(await isNoted()).toBeUndefined();
  expect((await run(data, 0))?.after).toEqual({ ...LISTED, isMended: false, bytes: "OggS\0recorded" });
}, 60_000);
