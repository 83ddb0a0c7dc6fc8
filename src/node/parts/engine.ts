/** The engine that joins this node to others: over NATS, over Unix sockets between workers, or none where the node is alone. */
import { ConfigError } from "../../config/load.ts";
import type { Config } from "../../config/settings.ts";
import { ClusterEngine } from "../../engine/cluster/cluster-engine.ts";
import type { Engine } from "../../engine/engine.ts";
import { Exchange } from "../../engine/local.ts";
import type { NatsOptions, NatsTransport } from "../../engine/transport/nats.ts";
import type { Log } from "../../telemetry/log.ts";
import { VERSION } from "../../version.ts";
import type { NodeContext } from "./context.ts";
import type { Team } from "./team.ts";

/** How long a start waits for NATS, as for PostgreSQL: after a power failure, or with Docker Compose, all of them start together. */
const START_WAIT_MS = 10_000;
const START_RETRY_MS = 250;

export async function connectEngine(context: NodeContext): Promise<Engine> {
  if (context.config.natsUrl !== "") return connectNats(context);
  return context.team ? joinWorkers(context, context.team) : new Exchange().engine();
}

/** undefined: the node has no NATS. Workers of one machine are joined without it. */
export const natsOf = (config: Config, engine: Engine): (() => boolean) | undefined =>
  config.natsUrl !== "" && engine instanceof ClusterEngine ? () => engine.isUp : undefined;

/** Nodes that this one hears and cannot understand. undefined: the node is alone. */
export const notUnderstoodBy = (engine: Engine): (() => readonly string[]) | undefined =>
  engine instanceof ClusterEngine ? () => engine.notUnderstood : undefined;

/** Joins this worker to the others of its machine. */
async function joinWorkers({ config, nodeId, log, metrics, faults }: NodeContext, team: Team): Promise<Engine> {
  const warn = (text: string): void => log.warn(text);
  const { UnixTransport } = await import("../../engine/transport/unix.ts");
  const { folder, slot, slots } = team;
  const isServing = (other: number): boolean => team.state.serving?.includes(other) === true;
  const engine = new ClusterEngine(await UnixTransport.join({ folder, slot, slots, isServing, warn }), {
    prefix: config.natsPrefix,
    about: { name: nodeId, version: VERSION },
    warn,
    fault: (error, at) => faults.caught("engine", error, at),
    changed: (isUp) =>
      isUp
        ? log.info("all workers are in sync again")
        : log.error("messages between workers were lost; they are repaired"),
  });
  metrics.gauge("parley_other_nodes", "Other nodes whose heartbeats this one receives.", () => engine.others);
  return engine;
}

async function connectNats({ config, nodeId, log, metrics, faults }: NodeContext): Promise<Engine> {
  const { natsUrl, natsPrefix } = config;
  const warn = (text: string): void => log.warn(text);
  const transport = await waitForNats({ url: natsUrl, name: `parley ${nodeId}`, warn }, log);
  const engine = new ClusterEngine(transport, {
    prefix: natsPrefix,
    about: { name: nodeId, version: VERSION },
    warn,
    fault: (error, context) => faults.caught("engine", error, context),
    changed: (isUp) =>
      isUp ? log.info("NATS is reachable again") : log.error("NATS is unreachable, so other nodes are too"),
  });
  metrics.gauge("parley_other_nodes", "Other nodes whose heartbeats this one receives.", () => engine.others);
  metrics.gauge("parley_nats_up", "Whether NATS is connected.", () => Number(engine.isUp));
  return engine;
}

/** Refuses the start if no server answers within START_WAIT_MS: alone, the node would look well and reach no other. */
async function waitForNats(options: NatsOptions, log: Log): Promise<NatsTransport> {
  // Loaded only where it is used: its client takes a tenth of a start.
  const { NatsTransport, connectProblem, isUnreachable } = await import("../../engine/transport/nats.ts");
  const untilMs = performance.now() + START_WAIT_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      return await NatsTransport.connect(options);
    } catch (error) {
      // Without the address: it may hold a credential.
      const problem = `PARLEY_NATS_URL: ${connectProblem(error)}`;
      if (!isUnreachable(error)) throw new ConfigError(problem);
      if (performance.now() > untilMs)
        throw new ConfigError(`${problem}. This node waited for it for ${START_WAIT_MS / 1000} seconds`);
      if (attempt === 1) log.warn(`${problem}. Waiting for it for up to ${START_WAIT_MS / 1000} seconds`);
      await Bun.sleep(START_RETRY_MS);
    }
  }
}
