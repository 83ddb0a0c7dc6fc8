/** Assertions that several scenarios make. */
import { deepEqual, equal } from "node:assert/strict";
import type { Caller, Member } from "./people.ts";

/** The same ids, each as often; the order is free. */
export function sameIds(actual: readonly string[], expected: readonly string[], whose: string): void {
  deepEqual(actual.toSorted(), expected.toSorted(), whose);
}

export const idsOf = (members: readonly Member[]): string[] => members.map((member) => member.id);

export const others = (members: readonly Member[], one: Member): string[] =>
  idsOf(members.filter((member) => member !== one));

/** Its first connection is its only one, and open. */
export function neverCut({ wire, id }: Caller | Member): void {
  equal(wire.lines.length, 1, `${id} has connected again`);
  equal(wire.line.closeCode, undefined, `the connection of ${id} was closed`);
}

/** Counted on its newest connection: who was announced to it, doubles included, and that nobody left. */
export function sawEachOnce(member: Member, channel: string, expected: readonly string[]): void {
  const { joined, left } = member.wire.line.told(channel);
  sameIds(joined, expected, `announced to ${member.id}`);
  deepEqual(left, [], `${member.id} was told that somebody left`);
  sameIds(member.known, expected, `known to ${member.id}`);
}
