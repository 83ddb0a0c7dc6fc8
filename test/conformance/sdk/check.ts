/** Assertions that several scenarios make. */
import { deepEqual, equal } from "node:assert/strict";
import type { Caller, Member } from "./clients.ts";

/** The same ids, each the same number of times, in any order. */
export function sameIds(actual: readonly string[], expected: readonly string[], whose: string): void {
  deepEqual(actual.toSorted(), expected.toSorted(), whose);
}

export const idsOf = (members: readonly Member[]): string[] => members.map((member) => member.id);

export const others = (members: readonly Member[], one: Member): string[] =>
  idsOf(members.filter((member) => member !== one));

/** It still has its first connection, and only that one. */
export function neverCut({ wire, id }: Caller | Member): void {
  equal(wire.lines.length, 1, `${id} has reconnected`);
  equal(wire.line.closeCode, undefined, `the connection of ${id} was closed`);
}

/** Checked on its newest connection: each id was announced exactly once, and none left. */
export function sawEachOnce(member: Member, channel: string, expected: readonly string[]): void {
  const { joined, left } = member.wire.line.presenceOf(channel);
  sameIds(joined, expected, `announced to ${member.id}`);
  deepEqual(left, [], `${member.id} was notified that a peer left`);
  sameIds(member.known, expected, `known to ${member.id}`);
}
