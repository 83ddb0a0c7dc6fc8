/** docs/presence-and-reconnect.md and docs/troubleshooting.md: how long a silent loss of a connection stays unnoticed. */
import { expect, test } from "bun:test";
import { World } from "../../src/realtime/testing/kit.ts";
import { readPage } from "./support/page.ts";

const STEP_MS = 250;
const PING_PERIOD_MS = 30_000;

/** The time until an idle connection is dropped whose client stops answering this long after a minute of connection. */
function droppedAfterMs(phaseMs: number): number {
  const world = new World();
  const client = world.connect("ann");
  world.advance(2 * PING_PERIOD_MS + phaseMs);
  client.withholdPongs();
  let ms = 0;
  for (; !client.socket.closed; ms += STEP_MS) world.advance(STEP_MS);
  return ms;
}

test("a silent loss is noticed within the time that the pages name", () => {
  const phases = Array.from({ length: PING_PERIOD_MS / STEP_MS }, (_, at) => at * STEP_MS);
  const times = phases.map(droppedAfterMs);
  const range = `${Math.floor(Math.min(...times) / 1000)} to ${Math.ceil(Math.max(...times) / 1000)} seconds`;
  for (const page of ["docs/presence-and-reconnect.md", "docs/troubleshooting.md"])
    expect(readPage(page)).toContain(range);
});
