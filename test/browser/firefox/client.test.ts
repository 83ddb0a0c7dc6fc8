/** parley-client in Firefox: every scenario of the conformance suite, the hooks of React, and the file that pages load without a bundler. */
import { setDefaultTimeout } from "bun:test";
import { SCENARIOS } from "../../client/scenarios/all.ts";
import { playedIn } from "../../client/support/in-browser.ts";
import { SOCKETS } from "../support/firefox/reports.ts";
import { launchFirefox } from "../support/firefox.ts";

setDefaultTimeout(90_000);

playedIn("Firefox", launchFirefox, SCENARIOS, SOCKETS);
