/** The public SDK, unmodified, under Bun with its own WebSocket. */
import { play } from "./scenario.ts";
import { Service } from "./service.ts";
import { suite } from "./suite.ts";

suite("Bun", (scenario, env) => play(scenario, new Service(env), (url) => new WebSocket(url)));
