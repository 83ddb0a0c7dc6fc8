/** What is live now, for operators: channels, peers and who reads streams, over all nodes, and what these have refused lately. */
import type { Clock } from "../../../base/clock.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import type { Recorder } from "../../events/recorder.ts";
import type { Refusals } from "../../events/refusals.ts";
import type { Spaces } from "../../state/spaces.ts";
import { LiveChannels } from "./channels.ts";
import { LivePeers } from "./peers.ts";
import { LiveRefusals } from "./refusals.ts";
import { LiveStreams } from "./streams.ts";

interface LiveParts {
  readonly spaces: Spaces;
  readonly nodeRequests: NodeRequests;
  readonly recorder: Recorder;
  readonly refusals: Refusals;
}

export class Live {
  readonly channels: LiveChannels;
  readonly peers: LivePeers;
  readonly refusals: LiveRefusals;
  readonly streams: LiveStreams;

  /** `nodeId`: the node's name, as operators know it. */
  constructor(parts: LiveParts, clock: Pick<Clock, "monotonicMs" | "wallMs">, nodeId: string) {
    const { spaces, nodeRequests, recorder, refusals } = parts;
    this.channels = new LiveChannels({ spaces, nodeRequests, clock });
    this.peers = new LivePeers({ spaces, nodeRequests, clock, nodeId, recorder });
    this.refusals = new LiveRefusals({ refusals, nodeRequests, nodeId });
    this.streams = new LiveStreams({ spaces, nodeRequests });
  }
}
