/** Asks other nodes for items that are missing in their sequences. */
import type { EngineCallbacks } from "../../engine.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { Requests } from "../requests/requests.ts";
import { sequencesOf } from "../requests/response-parts.ts";
import type { Format } from "../wire/format.ts";
import type { SequenceItem, SequencePlace } from "../wire/messages.ts";
import type { IncomingSequences } from "./incoming-sequences.ts";

const TRIES = 3;

/** Whose items are missing. */
interface Following {
  readonly sequences: Pick<IncomingSequences, "of" | "replayed">;
  readonly isEnded: boolean;
}

interface ReplaysParts<One extends Following> {
  readonly local: Pick<EngineCallbacks, "membersAre">;
  readonly nodes: Pick<Nodes, "known">;
  readonly requests: Pick<Requests, "toOne">;
  readonly format: Pick<Format, "sequenceItem">;
  /** Items of this node are lost. */
  readonly lose: (one: One, node: string) => void;
}

export class Replays<One extends Following> {
  constructor(private readonly parts: ReplaysParts<One>) {}

  request(one: One, from: SequencePlace, to: number, tries = TRIES): void {
    const { requests, nodes, lose } = this.parts;
    requests.toOne(from.node, { kind: "replay", from, to }, (response) => {
      if (one.isEnded || !nodes.known(from.node)) return;
      if (!response && tries > 1) return this.request(one, from, to, tries - 1);
      const items = response?.kind === "replay" ? this.itemsOf(response.items, from) : undefined;
      if (items) return one.sequences.replayed(items);
      if (response) return this.confirmLoss(one, from, to);
      lose(one, from.node);
    });
  }

  /** undefined: they are not kept any more, or not those that were requested. */
  private itemsOf(
    texts: readonly string[] | undefined,
    { node, app, channel }: SequencePlace,
  ): SequenceItem[] | undefined {
    const items = texts?.map((text) => this.parts.format.sequenceItem(text, app, channel));
    const isOfSequence = (item: SequenceItem | undefined): item is SequenceItem => item?.place.node === node;
    return items?.every(isOfSequence) ? items.filter(isOfSequence) : undefined;
  }

  /** The node has no such items, or no longer: before a loss is reported, its state shows whether they ever existed. */
  private confirmLoss(one: One, { node: name, app, channel, epoch }: SequencePlace, to: number): void {
    const { requests, nodes, local, lose } = this.parts;
    requests.toOne(name, { kind: "sequences", channels: [[app, channel]] }, (response) => {
      const node = nodes.known(name);
      if (one.isEnded || !node) return;
      const [state] = sequencesOf(response);
      // Epoch 0 proves nothing: the node has forgotten the sequence.
      const isRefuted = state && state.epoch > 0 && (state.epoch < epoch || (state.epoch === epoch && state.n < to));
      if (!isRefuted) return lose(one, name);
      const takeMembers = (): void => local.membersAre(node.id, app, channel, state.members);
      one.sequences.of(name).refute(state, takeMembers);
    });
  }
}
