/** For tests: the tables and columns of a database, compared with the inventory. */
import { expect } from "bun:test";
import type { DurableTable } from "../inventory/inventory.ts";
import type { FoundTables } from "./tables.ts";

const inOrder = (entries: Iterable<readonly [string, readonly string[]]>): Record<string, readonly string[]> =>
  Object.fromEntries([...entries].map(([name, columns]) => [name, columns.toSorted()] as const).toSorted());

/** Fails with what is missing in the list, or in the database. */
export function expectListed(found: FoundTables, listed: readonly DurableTable[]): void {
  const actual = inOrder([...found].map(([name, columns]) => [name, columns.map((column) => column.name)] as const));
  expect(actual).toEqual(inOrder(listed.map(({ name, key, columns }) => [name, [...key, ...columns]] as const)));
}
