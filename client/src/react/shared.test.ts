import { beforeEach, expect, test } from "bun:test";
import { shared } from "./shared.ts";

let happened: string[] = [];
let hold: () => () => void;

beforeEach(() => {
  happened = [];
  hold = shared(
    () => happened.push("begin"),
    () => happened.push("end"),
  );
});

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

test("it begins with the first holder and ends after the last", async () => {
  const releases = [hold(), hold()];
  expect(happened).toEqual(["begin"]);
  releases[0]?.();
  await turn();
  expect(happened).toEqual(["begin"]);
  releases[1]?.();
  await turn();
  expect(happened).toEqual(["begin", "end"]);
  hold();
  expect(happened).toEqual(["begin", "end", "begin"]);
});

test("who lets go and takes it again within a turn, as StrictMode does, keeps it", async () => {
  hold()();
  const release = hold();
  await turn();
  expect(happened).toEqual(["begin"]);
  release();
  hold()();
  await turn();
  expect(happened).toEqual(["begin", "end"]);
});
