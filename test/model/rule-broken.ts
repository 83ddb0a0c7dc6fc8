/** The error for a rule of the model that the nodes have broken. */
import type { Connection } from "./model.ts";

export class RuleBroken extends Error {}

export const nameOf = (connection: Connection): string => `${connection.peerId.slice(0, 8)}#${connection.number}`;

export function ruleBroken(connection: Connection, what: string): never {
  throw new RuleBroken(`${nameOf(connection)} on node ${connection.node}: ${what}`);
}
