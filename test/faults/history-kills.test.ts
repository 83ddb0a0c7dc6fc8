/**
 * A process appends to the embedded history as fast as it can, and is killed with SIGKILL at random moments, many times on the same
 * file: every message that was acknowledged is there, none is there twice, and no offset ever means two things.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { anAppId } from "../../src/base/testing/ids.ts";
import { SqliteHistory } from "../../src/history/sqlite/history.ts";
import { scratch } from "../support/temp.ts";

const APP = anAppId("app");

const KILLS = process.env.PARLEY_TEST_FULL === "1" ? 200 : 20;
/** The process lives this long at most after its first batch. */
const ALIVE_MAX_MS = 40;

setDefaultTimeout(60_000 + KILLS * 2000);

type Acked = readonly [channel: string, epoch: string, offset: number, check: string, id: string];

interface Seen {
  readonly epoch: string;
  /** By offset: check and id. */
  readonly messages: Map<number, string>;
  readonly ids: Set<string>;
  top: number;
}

test(`${KILLS} kills lose nothing that was acknowledged`, async () => {
  using folder = scratch();
  const path = join(folder.path, "history.sqlite");
  const seen = new Map<string, Seen>();
  let acknowledged = 0;
  for (let run = 0; run < KILLS; run++) {
    const acked = await runAndKill(path, run);
    acknowledged += acked.length;
    await check(path, acked, seen);
  }
  expect(acknowledged).toBeGreaterThan(KILLS * 32);
});

/** What one process has acknowledged before it was killed. */
async function runAndKill(path: string, run: number): Promise<readonly Acked[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "support/history-writer.ts"), path, String(run)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  let isKilled = false;
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk, { stream: true });
    if (!isKilled) setTimeout(() => child.kill("SIGKILL"), Math.random() * ALIVE_MAX_MS);
    isKilled = true;
  }
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  // The last line may be cut.
  return output
    .split("\n")
    .slice(0, -1)
    .flatMap((line) => JSON.parse(line) as Acked[]);
}

async function check(path: string, acked: readonly Acked[], seen: Map<string, Seen>): Promise<void> {
  const setAside = (text: string): never => {
    throw new Error(text);
  };
  const history = new SqliteHistory({ path, sync: "process", setAside });
  for (const channel of new Set(acked.map(([name]) => name))) {
    const before = seen.get(channel);
    const page = await history.read(APP, channel, { after: before?.top ?? 0, limit: 1e6, maxBytes: 1e12 });
    const state = page?.state;
    if (!page || !state) throw new Error(`${channel} is gone`);
    const known = before ?? { epoch: state.epoch, messages: new Map(), ids: new Set(), top: 0 };
    seen.set(channel, known);
    expect(state.epoch).toBe(known.epoch);
    // What was there before is there still, at the same place.
    if (known.top > 0) expect(page.check).toBe(known.messages.get(known.top)?.split(" ")[0] as string);
    for (const { offset, check, id = "" } of page.messages) {
      expect(offset).toBe(known.top + 1);
      expect(known.ids.has(id)).toBeFalse();
      known.ids.add(id);
      known.messages.set(offset, `${check} ${id}`);
      known.top = offset;
    }
    expect(known.top).toBe(state.top);
    expect((await history.usage(APP)).streams).toBeLessThanOrEqual(3);
    const lost = acked.filter(
      ([name, epoch, offset, check, id]) =>
        name === channel && (epoch !== known.epoch || known.messages.get(offset) !== `${check} ${id}`),
    );
    expect(lost).toEqual([]);
  }
  await history.close();
}
