/** The engine's suite on Unix sockets, and what the node protocol repairs when links between workers are lost. */
import { engineSuite } from "../testing/engine.suite.ts";
import { unixCluster } from "../testing/unix-cluster.ts";
import { PAYLOAD_MAX_BYTES } from "./unix/frames.ts";

engineSuite("Unix sockets", (nodes) => unixCluster(nodes), { runs: 200, payloadBytes: PAYLOAD_MAX_BYTES });
