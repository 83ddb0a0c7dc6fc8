/** What is live now, for operators: channels and peers over all nodes. */
import type { Clock } from "../../../base/clock.ts";
import type { SpaceId } from "../../../base/ids.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import type { Recorder } from "../../events/recorder.ts";
import type { Spaces } from "../../state/spaces.ts";
import { LiveChannels } from "./channels.ts";
import { LivePeers } from "./peers.ts";

interface LiveParts {
  readonly spaces: Spaces;
  readonly nodeRequests: NodeRequests;
  readonly recorder: Recorder;
}

export class Live {
  readonly channels: LiveChannels;
  readonly peers: LivePeers;

  /** `nodeId`: the node's name, as operators know it. */
  constructor({ spaces, nodeRequests, recorder }: LiveParts, clock: Pick<Clock, "monotonicMs">, nodeId: string) {
    this.channels = new LiveChannels({ spaces, nodeRequests, clock });
    const recent = (spaceId: SpaceId, peerId: string) => recorder.ofPeer(spaceId, peerId);
    this.peers = new LivePeers({ spaces, nodeRequests, clock, nodeId, recent });
  }
}
