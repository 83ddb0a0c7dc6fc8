/** The suite of raw sockets with connections over HTTP: a sample, and in full all files whose subject is not WebSocket itself. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { IS_FULL } from "../../support/slack.ts";
import { RAW, runSuites } from "../../support/suites.ts";

setDefaultTimeout(900_000);

const SAMPLE = ["delivery", "revocation"];
const ALL = [
  ...SAMPLE,
  "connect-tokens",
  "history",
  "history-pages",
  "lobby",
  "narrowing",
  "permissions",
  "renew",
  "room-acts",
  "room-flags",
  "room-rights",
  "room-times",
  "rooms",
  "shutdown",
];

test("passes over HTTP", async () => {
  const paths = (IS_FULL ? ALL : SAMPLE).map((name) => `./${RAW}/${name}.test.ts`);
  const { code, passed, failed, output } = await runSuites(paths, { PARLEY_TEST_WIRE: "http" });
  if (code !== 0) console.log(output);
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  expect(passed).toBeGreaterThan(30);
});
