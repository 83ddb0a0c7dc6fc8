/** Builds realtime with its frames, in the same way for a node and for tests. */
import { buildFrames, type FramesBuilt, type FramesOutside } from "./build/frames.ts";
import { buildHub, type Hub, type HubParts } from "./hub.ts";

/** What comes from outside of realtime. */
interface AssemblyParts extends HubParts, FramesOutside {}

export interface AssembledRealtime extends FramesBuilt {
  readonly hub: Hub;
}

export function assembleRealtime(parts: AssemblyParts): AssembledRealtime {
  const hub = buildHub(parts);
  const { gateway, handlers } = buildFrames(parts, hub);
  return { hub, gateway, handlers };
}
