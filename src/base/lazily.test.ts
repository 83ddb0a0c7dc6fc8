import { expect, mock, test } from "bun:test";
import { lazily } from "./lazily.ts";

test("it is made when it is first used, and once", () => {
  const make = mock(() => ({}));
  const made = lazily(make);
  expect(make).not.toHaveBeenCalled();
  expect(made()).toBe(made());
  expect(make).toHaveBeenCalledTimes(1);
});

test("what could not be made is tried again", () => {
  const make = mock(() => 1).mockImplementationOnce(() => {
    throw new Error("not yet");
  });
  const made = lazily(make);
  expect(made).toThrow("not yet");
  expect(made()).toBe(1);
});
