/** Workers that are killed while they append and make changes lose nothing that was acknowledged. */
import { expect, test } from "bun:test";
import { anAppId } from "../base/testing/ids.ts";
import { ALL } from "../history/testing/kit.ts";
import { newFolders } from "../store/testing/places.ts";
import { Served } from "./testing/served.ts";

const newFolder = newFolders();
const KILLS = 8;
const WORKERS = 3;
/** A worker is killed when the others have had this many messages acknowledged since the last kill. */
const MESSAGES_BETWEEN = 2000;

test("what killed workers knew to be stored is stored once, in order and without a gap", async () => {
  const served = await Served.open(newFolder());
  const acknowledged = new Map<number, string>();
  let changes = 0;
  let toNextKill = MESSAGES_BETWEEN;
  let due = Promise.withResolvers<void>();
  const note = (line: string): void => {
    if (line === "C") changes++;
    const [kind, offset, text = ""] = line.split(" ");
    if (kind !== "A") return;
    expect(acknowledged.has(Number(offset))).toBe(false);
    acknowledged.set(Number(offset), text);
    if (--toNextKill === 0) due.resolve();
  };
  const start = (name: string) => {
    const child = Bun.spawn([process.execPath, `${import.meta.dir}/testing/busy-worker.ts`, served.path, name], {
      stdout: "pipe",
      stderr: "inherit",
    });
    return { child, read: readLines(child.stdout, note) };
  };
  const running = Array.from({ length: WORKERS }, (_, i) => start(`first${i}`));
  const ended: Promise<void>[] = [];
  for (let nr = 0; nr < KILLS; nr++) {
    await due.promise;
    const { child, read } = running[nr % WORKERS] as (typeof running)[number];
    child.kill("SIGKILL");
    await child.exited;
    ended.push(read);
    running[nr % WORKERS] = start(`next${nr}`);
    due = Promise.withResolvers();
    toNextKill = MESSAGES_BETWEEN;
  }
  for (const { child, read } of running) {
    child.kill("SIGKILL");
    await child.exited;
    ended.push(read);
  }
  await Promise.all(ended);
  const { store, history } = await served.worker();
  const page = await history.read(anAppId("app"), "channel", ALL);
  const stored = new Map(page?.messages.map(({ offset, dataJson }) => [offset, JSON.parse(dataJson) as string]));
  expect([...stored.keys()]).toEqual(Array.from({ length: stored.size }, (_, i) => i + 1));
  expect([...acknowledged].filter(([offset, text]) => stored.get(offset) !== text)).toEqual([]);
  // A kill may cost the line of a change that was made.
  const { keys } = await store.revisions();
  expect(Number(await store.meta("count"))).toBe(keys);
  expect(keys).toBeGreaterThanOrEqual(changes);
  await served.close();
});

async function readLines(stream: ReadableStream<Uint8Array>, note: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    // A killed process may have written a part of a line.
    rest = lines.pop() ?? "";
    for (const line of lines) note(line);
  }
}
