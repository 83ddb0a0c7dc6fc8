/**
 * Which nodes a node receives, as its heartbeats say it. A list of all names in each heartbeat would be N² of them per second, so a heartbeat
 * has what has changed, and the number of the last change. The whole list follows from time to time, for a node that has missed a change
 * and asks for it, and in each heartbeat while there is a node that reads only whole lists: one of an earlier version.
 */
import type { Heartbeat } from "../wire/messages.ts";
import type { OtherNode } from "./nodes.ts";

/** Heartbeats between two whole lists. */
export const WHOLE_LIST_EVERY = 30;

export type SentList = Pick<Heartbeat, "receivesFrom" | "list">;

/** What this node sends. */
export class NodeList {
  /** As last sent. Bound: NODES_MAX. */
  private names = new Set<string>();
  /** Number of the last change. */
  private number = 0;
  /** Not the same for all nodes: they would send their whole lists at the same time. */
  private untilWhole = Math.floor(Math.random() * WHOLE_LIST_EVERY);

  /** For the next heartbeat to all nodes. */
  next(all: readonly OtherNode[], mustBeWhole: boolean): SentList {
    const names = new Set(all.map(({ name }) => name));
    const added = [...names].filter((name) => !this.names.has(name));
    const removed = [...this.names].filter((name) => !names.has(name));
    if (added.length + removed.length > 0) this.number++;
    this.names = names;
    const isWhole = mustBeWhole || this.untilWhole-- <= 0 || !all.every(({ readsChanges }) => readsChanges === true);
    if (!isWhole) return { receivesFrom: [], list: { number: this.number, added, removed } };
    this.untilWhole = WHOLE_LIST_EVERY;
    return this.whole();
  }

  /** As it was last sent. */
  whole(): SentList {
    return { receivesFrom: [...this.names], list: { number: this.number } };
  }
}

/**
 * Whether the node of a heartbeat has received this one, called `self`, all the time. undefined: a change of its list was missed, and it
 * must be asked. The question itself makes it hear this one: if it had not, it says in its next change that it has added it.
 */
export function hasReceived(self: string, node: OtherNode, { receivesFrom, list }: Heartbeat): boolean | undefined {
  const last = node.list;
  if (!list?.added || !list.removed) {
    const includesSelf = receivesFrom.includes(self);
    node.list = list && { number: list.number, includesSelf };
    return includesSelf;
  }
  const { number, added, removed } = list;
  if (added.includes(self)) {
    node.list = { number, includesSelf: true };
    // It was removed in a change that was missed here.
    return last?.includesSelf !== true;
  }
  const isChanged = added.length + removed.length > 0;
  if (removed.includes(self)) node.list = { number, includesSelf: false };
  else if (last?.number === (isChanged ? number - 1 : number)) node.list = { number, includesSelf: last.includesSelf };
  else return undefined;
  return node.list.includesSelf;
}
