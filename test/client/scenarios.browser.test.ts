/** The scenarios of the conformance suite with parley-client in Chromium. In Firefox they are in ../browser/firefox. */
import { setDefaultTimeout } from "bun:test";
import { launchChromium } from "../browser/support/chromium.ts";
import { isInSample } from "../support/sample.ts";
import { SAMPLE, SCENARIOS } from "./scenarios/all.ts";
import { playedIn } from "./support/in-browser.ts";
import { IS_FULL } from "./support/service.ts";

setDefaultTimeout(90_000);

playedIn("Chromium", launchChromium, IS_FULL ? SCENARIOS : SAMPLE.filter((_, at) => isInSample(at, 2)));

/** A page has at most six connections to a host without HTTP/2: one for each client, and one to send with. */
const OF_FEW = /invalid|token connects|direct message reaches|too large|each with its options|rewinds|4020/;

playedIn(
  "Chromium",
  launchChromium,
  SCENARIOS.filter(({ name }) => OF_FEW.test(name)),
  { transport: "http" },
);
