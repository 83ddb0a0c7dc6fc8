import { expect, test } from "bun:test";
import type { Message } from "../../../client/src/events/message.ts";
import { noticeOf } from "./notices.ts";

const notice = (data: unknown, from = "service") => noticeOf({ from, data } as Message);

test("a mute is of one person, or of everyone but the host who asked", () => {
  const one = { notice: "muted", participantSession: "ann", kind: "audio" };
  const all = { notice: "muted", by: "hana", kind: "audio" };
  expect([notice(one), notice(all)]).toEqual([one, all] as never);
  expect(notice({ notice: "muted", by: "hana" })).toBeUndefined();
});

test("hands that are lowered, and names", () => {
  const renamed = { notice: "renamed", participantSession: "ann", name: "Annabel" };
  expect([notice({ notice: "handsLowered" }), notice(renamed)]).toEqual([{ notice: "handsLowered" }, renamed] as never);
  expect(notice({ ...renamed, name: 7 })).toBeUndefined();
});

test("of anyone but the service is none", () => {
  for (const data of [{ notice: "handsLowered" }, { notice: "muted", by: "eve", kind: "audio" }])
    expect(notice(data, "eve")).toBeUndefined();
});
