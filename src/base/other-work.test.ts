import { expect, test } from "bun:test";
import { withBreaks } from "./other-work.ts";

test("other events have their turn after each few entries, and not before", async () => {
  const order: string[] = [];
  const breaks: number[] = [];
  for await (const nr of withBreaks([1, 2, 3, 4, 5, 6, 7], 3)) {
    setImmediate(() => breaks.push(nr));
    order.push(`${nr} after ${breaks.length}`);
  }
  expect(order).toEqual(["1 after 0", "2 after 0", "3 after 0", "4 after 3", "5 after 3", "6 after 3", "7 after 6"]);
});
