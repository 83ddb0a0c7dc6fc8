/** For tests: messages with the number that their sender gave them. */
import type { Envelope, NodeId } from "../engine.ts";

/** The data of a message. */
export interface Numbered {
  readonly node: NodeId;
  readonly n: number;
  readonly padding?: string;
}

/** Every second one is without metadata. */
export const numbered = (from: string, data: Numbered): Envelope => ({
  from,
  metadataJson: data.n % 2 === 0 ? undefined : `{"of":"${from}"}`,
  dataJson: JSON.stringify(data),
});
