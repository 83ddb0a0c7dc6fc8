/** The transport in memory keeps the contract of transports. */
import { MemoryNetwork } from "./memory-transport.ts";
import { transportSuite } from "./transport.suite.ts";

const network = new MemoryNetwork();
transportSuite("the transport in memory", {
  connect: async () => network.connect(),
  startOutage: () => network.setUp(false),
  endOutage: () => network.setUp(true),
});
