/** Builds the live tail of a node. It listens to realtime only while it has readers, here or on other nodes. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { AppId } from "../../base/ids.ts";
import { TailNodes } from "../../realtime/operators/tail-nodes.ts";
import { TailSource } from "../../realtime/operators/tail-source.ts";
import { Tail } from "../../telemetry/tail/tail.ts";
import type { NodeContext } from "./context.ts";
import type { Realtime } from "./realtime.ts";

interface TailParts extends Pick<NodeContext, "nodeId" | "metrics"> {
  readonly keyring: Keyring;
  readonly realtime: Realtime;
}

export function buildTail({ nodeId, metrics, keyring, realtime: { hub, clock } }: TailParts): TailNodes {
  const mayShowPayloads = (app: AppId): boolean => keyring.app(app)?.consolePayloads === true;
  const tail = new Tail({ after: clock.after, mayShowPayloads });
  const source = new TailSource(tail, nodeId, clock.wallMs);
  tail.onSwitch((isOn) => {
    hub.events.listener = isOn ? source : undefined;
  });
  const nodes = new TailNodes({ tail, requests: hub.nodeRequests, clock, mayShowPayloads });
  metrics.gauge("parley_tail_readers", "Readers of the live tail that this node serves.", () => nodes.size);
  metrics.gauge(
    "parley_tail_remote_readers",
    "Readers of the live tail on other nodes that this node gathers events for.",
    () => nodes.remoteSize,
  );
  return nodes;
}
