/**
 * Which nodes lack something that this version has. A channel rule that they would not follow is refused until they are upgraded. Each node
 * answers what it has; one that does not know the question is older.
 */
import { z } from "zod";
import { lazily } from "../../../base/lazily.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import { NODE_STATUS, nodeName } from "./nodes.ts";

type NodeFeature = "streams";

/** The name of the request between nodes. */
export const NODE_FEATURES = "features";

const answer = lazily(() =>
  z.object({
    nodeId: z.string().max(256),
    worker: z.int().min(0).optional(),
    features: z.array(z.string().max(64)).max(64),
  }),
);

/** What this node answers. */
export interface HasFeatures {
  readonly nodeId: string;
  readonly worker?: number;
  readonly features: readonly NodeFeature[];
}

/** The nodes that lack it, as an operator knows them; none: every node has it. */
export const nodesWithout =
  (nodeRequests: Pick<NodeRequests, "gather">) =>
  async (feature: NodeFeature): Promise<readonly string[]> => {
    const [having, all] = await Promise.all([
      nodeRequests.gather(NODE_FEATURES, null, (value) => answer().parse(value)),
      nodeRequests.gather(NODE_STATUS, null, (value) => nodeName().parse(value)),
    ]);
    const keyOf = ({ nodeId, worker }: { nodeId: string; worker?: number | undefined }): string =>
      JSON.stringify([nodeId, worker]);
    const known = new Set(having.answers.filter(({ features }) => features.includes(feature)).map(keyOf));
    const older = all.answers.filter((node) => !known.has(keyOf(node)));
    const names = older.map(({ nodeId, version }) => `${nodeId} (${version})`);
    return names.length === 0 && !having.isComplete ? ["a node that has not answered"] : [...new Set(names)];
  };
