/** The public SDK, unmodified, with HttpSocket of parley-client: every scenario without a WebSocket. */
import { HttpSocket } from "../../../client/src/http.ts";
import { play } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { Service } from "./service.ts";
import { suite } from "./suite.ts";

/** How a client sees a connection that is lost. */
const ABNORMAL = 1006;

class LosableSocket extends HttpSocket {
  /** The service gets no goodbye. */
  terminate(): void {
    this.close(ABNORMAL);
  }
}

suite(
  "Bun, over HTTP",
  (scenario, env) => play(scenario, new Service(env), (url) => new LosableSocket(url)),
  undefined,
  SCENARIOS,
);
