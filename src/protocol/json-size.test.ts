import { expect, test } from "bun:test";
import { excessOf } from "./json-size.ts";

const repeated = (one: string, count: number): string => Array.from({ length: count }, () => one).join(",");

test("says of what a text has too much", () => {
  const bounds = { fields: 3, values: 20 };
  for (const [text, excess] of [
    ["{}", undefined],
    [`{${repeated('"a":1', 3)}}`, undefined],
    [`{${repeated('"a":1', 4)}}`, "fields"],
    [`{"a":[${repeated("1", 15)}]}`, undefined],
    [`{"a":[${repeated("1", 30)}]}`, "values"],
    [`{"a":[${repeated("{}", 12)}]}`, "values"],
    [`{"a":"${"[,:{".repeat(100)}"}`, undefined],
    ['{"a', undefined],
  ] as const)
    expect([text.slice(0, 20), excessOf(text, bounds)]).toEqual([text.slice(0, 20), excess]);
  expect(excessOf("[".repeat(1000), { values: 2000 })).toBe("depth");
});
