import { expect, test } from "bun:test";
import { REACTIONS } from "../../protocol/room-channels.ts";
import { REACTIONS_BURST, REACTIONS_PER_SECOND } from "../contract/limits.ts";
import { ReactionRule } from "./reactions.ts";

const clock = { ms: 0 };
const newRule = (): ReactionRule => new ReactionRule(() => clock.ms);

test("there are six, and each is accepted", () => {
  expect(REACTIONS).toHaveLength(6);
  for (const name of REACTIONS) expect(newRule().refusalOf("ann", JSON.stringify({ name }))).toBeUndefined();
});

test.each([
  '{"name":"clapping"}',
  '{"name":"Clap"}',
  '{"name":["clap"]}',
  '{"name":"clap","text":"hello"}',
  '{"name":"clap","name":"wow"}',
  "{}",
  '"clap"',
  '["clap"]',
  "null",
  '{"name":"toString"}',
  `{"name":"clap"${" ".repeat(100)}}`,
])("%s is none", (json) => expect(newRule().refusalOf("ann", json)?.code).toBe("malformed_message"));

test("a stay has two per second, whatever others send, and refused ones count", () => {
  const rule = newRule();
  const clap = '{"name":"clap"}';
  const send = (who: string, json = clap): string => rule.refusalOf(who, json)?.code ?? "ok";
  expect(Array.from({ length: REACTIONS_BURST }, () => send("ann", "x"))).not.toContain("ok");
  expect(send("ann")).toBe("rate_limited");
  expect(send("ben")).toBe("ok");
  clock.ms += 1000;
  const next = Array.from({ length: REACTIONS_PER_SECOND + 2 }, () => send("ann"));
  expect(next).toEqual(["ok", "ok", "rate_limited", "rate_limited"]);
});
