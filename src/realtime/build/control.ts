/** Builds what changes several folders at once: kicks, edited keys, and what other nodes report through the engine. */
import type { Blocks } from "../../access/admission/blocks.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import type { AppId } from "../../base/ids.ts";
import type { Engine, EngineCallbacks, NodeName } from "../../engine/engine.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { EngineBoundary } from "../control/engine-boundary.ts";
import { EngineHandler } from "../control/engine-handler.ts";
import { ExpectedBack } from "../control/expected-back.ts";
import { KeyChanges } from "../control/key-changes.ts";
import { Kicks } from "../control/kicks.ts";
import type { Usage } from "../counting/usage.ts";
import type { ConnectionsBuilt } from "./connections.ts";
import type { MessagesBuilt } from "./messages.ts";
import type { PresenceBuilt } from "./presence.ts";
import type { StateBuilt } from "./state.ts";
import type { StreamsBuilt } from "./streams.ts";
import type { SubscriptionsBuilt } from "./subscriptions.ts";

export interface ControlOutside {
  readonly id: NodeName;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly blocks: Blocks;
  readonly usage: Usage;
  readonly faults: FaultLog;
  /** Called when another node announces a change: reload shared state and, if `app` is given, flush its usage. */
  readonly invalidated: (app?: AppId, withdrawn?: string) => Promise<void>;
}

/** What control needs of the folders below it. */
type ControlNeeds = Pick<StateBuilt, "spaces"> &
  Pick<ConnectionsBuilt, "holds" | "connections" | "boundary" | "deadlines"> &
  Pick<PresenceBuilt, "presence" | "notes" | "occupancy"> &
  MessagesBuilt &
  Pick<StreamsBuilt, "streamRules" | "streamHeads"> &
  Pick<SubscriptionsBuilt, "narrowing">;

export interface ControlBuilt {
  readonly expectedBack: ExpectedBack;
  readonly kicks: Kicks;
  readonly keyChanges: KeyChanges;
  readonly engineCallbacks: EngineCallbacks;
}

export function buildControl(outside: ControlOutside, nodeRequests: NodeRequests, needs: ControlNeeds): ControlBuilt {
  const { id, clock, engine, keyring, blocks, usage, faults, invalidated } = outside;
  const { spaces, holds, connections, boundary, deadlines, presence, notes, occupancy } = needs;
  const { delivery, directs, streamRules, streamHeads, narrowing } = needs;
  const { lingering } = presence;
  const expectedBack = new ExpectedBack({ lingering, holds, notes, directs, spaces, boundary, engine, clock });
  const kicks = new Kicks({ spaces, connections, expectedBack, engine, blocks });
  const handler = new EngineHandler({
    id,
    spaces,
    delivery,
    directs,
    streamRules,
    presence,
    occupancy,
    kicks,
    expectedBack,
    boundary,
    usage,
    clock,
    blocks,
    invalidated,
    nodeRequests,
  });
  return {
    expectedBack,
    kicks,
    keyChanges: new KeyChanges({ clock, keyring, deadlines, boundary, connections, expectedBack, narrowing }),
    engineCallbacks: new EngineBoundary({ handler, boundary, faults, spaces, streamHeads }),
  };
}
