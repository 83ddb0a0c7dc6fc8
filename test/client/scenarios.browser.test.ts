/** The scenarios of the conformance suite with parley-client in Chromium. In Firefox they are in ../browser/firefox. */
import { setDefaultTimeout } from "bun:test";
import { launchChromium } from "../browser/support/chromium.ts";
import { isInSample } from "../support/sample.ts";
import { SAMPLE, SCENARIOS } from "./scenarios/all.ts";
import { playedIn } from "./support/in-browser.ts";
import { IS_FULL } from "./support/service.ts";

setDefaultTimeout(90_000);

playedIn("Chromium", launchChromium, IS_FULL ? SCENARIOS : SAMPLE.filter((_, at) => isInSample(at, 2)));
