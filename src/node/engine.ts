/** The engine that joins this node to others: over NATS, or none where the node is alone. */
import { ConfigError } from "../config/load.ts";
import { ClusterEngine } from "../engine/cluster/cluster-engine.ts";
import type { Engine } from "../engine/engine.ts";
import { Exchange } from "../engine/local.ts";
import type { NatsTransport } from "../engine/transport/nats.ts";
import type { NodeContext } from "./context.ts";

export async function connectEngine({ config, nodeId, log, metrics, faults }: NodeContext): Promise<Engine> {
  const { natsUrl, natsPrefix } = config;
  if (natsUrl === "") return new Exchange().engine();
  const warn = (text: string): void => log.warn(text);
  let transport: NatsTransport;
  // Loaded only where it is used: its client takes a tenth of a start.
  const nats = await import("../engine/transport/nats.ts");
  try {
    transport = await nats.NatsTransport.connect({ url: natsUrl, name: `parley ${nodeId}`, warn });
  } catch (error) {
    // Without the address: it may hold a credential.
    throw new ConfigError(`PARLEY_NATS_URL: no server there lets us in: ${(error as Error).message}`);
  }
  const engine = new ClusterEngine(transport, {
    prefix: natsPrefix,
    warn,
    fault: (error, context) => faults.caught("engine", error, context),
    changed: (isUp) =>
      isUp ? log.info("NATS is reachable again") : log.error("NATS is unreachable, and so are other nodes"),
  });
  metrics.gauge("parley_other_nodes", "Other nodes whose heartbeats this one receives.", () => engine.others);
  metrics.gauge("parley_nats_up", "Whether NATS is connected.", () => Number(engine.isUp));
  return engine;
}
