/**
 * Streams over HTTP on one node: while it is killed and stopped again and again, what was answered stays, nothing of a producer is stored twice, and
 * every reader ends with what the store has. test/workers and test/nodes do the same with several processes.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { StreamLoad, type StreamLoadOptions, streamApp } from "../support/streams/load.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";

setDefaultTimeout(600_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 37_100);
const KILLS = IS_FULL ? 8 : 1;
const SIZE: Omit<StreamLoadOptions, "seed"> = IS_FULL
  ? { streams: 2, producers: 3, plain: 2, readers: 2 }
  : { streams: 1, producers: 2, plain: 1, readers: 1 };
/** Longer than anything in the node waits before it is noticed. */
const STOPPED_MS = IS_FULL ? 3000 : 500;
const ENV = {
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
  PARLEY_DRAIN_SECONDS: "1",
  PARLEY_DEMO: "off",
};

test(`a node that is killed ${KILLS} times, and stopped: each value once, in order, for every reader (seed ${SEED})`, async () => {
  const data = tempFolder();
  let server: Server = await startParley({ env: ENV, data });
  try {
    const app = await streamApp(server.admin, () => [server.url]);
    await using load = await StreamLoad.on(app, { seed: SEED, ...SIZE });
    for (let kill = 0; kill < KILLS; kill++) {
      await load.flowing();
      await server.kill("SIGKILL");
      server = await startParley({ env: ENV, data });
    }
    await load.flowing();
    server.signal("SIGSTOP");
    await Bun.sleep(STOPPED_MS);
    server.signal("SIGCONT");
    await load.flowing();
    await load.settle("kill -9 and SIGSTOP, one node");
    expect(server.log.filter(({ level }) => level === "error")).toEqual([]);
  } finally {
    await server.stop();
    removeFolder(data);
  }
});
