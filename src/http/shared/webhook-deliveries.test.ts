import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { type TestOutcome, WebhookTests } from "./webhook-deliveries.ts";

test("tests of one application leave places for those of others", async () => {
  const [a, b] = [anAppId("a"), anAppId("b")];
  const answer = Promise.withResolvers<TestOutcome>();
  const tests = new WebhookTests({ test: () => answer.promise });
  const running = Array.from({ length: 5 }, (_, at) => tests.run(`a${at}`, a));
  const tooMany = { code: "rate_limited" };
  await expect(tests.run("a5", a)).rejects.toMatchObject(tooMany);
  const other = tests.run("b1", b);
  await expect(tests.run("b1", b)).rejects.toMatchObject(tooMany);
  answer.resolve({ status: 204, ms: 1, response: "", error: null });
  for (const one of [...running, other]) expect(await one).toMatchObject({ succeeded: true });
  expect(await tests.run("a5", a)).toMatchObject({ status: 204 });
});
