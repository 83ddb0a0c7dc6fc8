/** The public SDK, unmodified, where every channel keeps history: it must not notice. */
import { startOwn } from "./own-service.ts";
import { play } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { Service } from "./service.ts";
import { suite } from "./suite.ts";

const RULES = [{ pattern: "**", history: { messages: 1000, seconds: 3600 }, graceSec: 0 }];

suite(
  "Bun, on channels with history",
  (scenario, env) => play(scenario, new Service(env), (url) => new WebSocket(url)),
  () => startOwn(RULES),
  SCENARIOS.filter(({ name }) => !name.includes("without history")),
);
