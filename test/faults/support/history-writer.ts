/** A process that appends to the history in the file it is given, and prints each batch when it is acknowledged, until it is killed. */
import { writeSync } from "node:fs";
import { anAppId } from "../../../src/base/testing/ids.ts";
import { randomBase36 } from "../../../src/history/contract/random.ts";
import { SqliteHistory } from "../../../src/history/sqlite/history.ts";

const [path = "", run = ""] = process.argv.slice(2);
const CHANNELS = 3;
const KEEP = { messages: 10_000, seconds: 3600 };

const history = new SqliteHistory({
  path,
  sync: "process",
  setAside: (text) => {
    throw new Error(text);
  },
});
let number = 0;
for (let batches = 0; ; batches++) {
  const messages = Array.from({ length: 1 + Math.floor(Math.random() * 32) }, () => {
    const text = `${run}-${number++}`;
    return {
      spaceId: anAppId("app"),
      channel: `c${number % CHANNELS}`,
      keep: KEEP,
      from: "ann",
      metadataJson: undefined,
      dataJson: JSON.stringify(text.padEnd(Math.random() < 0.02 ? 6000 : 40, ".")),
      connection: undefined,
      id: text,
      idScope: "ann",
      bytes: 300,
    };
  });
  const results = await history.append({ check: randomBase36(), messages });
  // Written at once, so that what was printed was acknowledged.
  const acked = results.map(({ epoch, offset, check }, at) => [
    messages[at]?.channel,
    epoch,
    offset,
    check,
    messages[at]?.id,
  ]);
  writeSync(1, `${JSON.stringify(acked)}\n`);
  if (batches % 10 === 9) await history.trim(() => Number.POSITIVE_INFINITY);
}
