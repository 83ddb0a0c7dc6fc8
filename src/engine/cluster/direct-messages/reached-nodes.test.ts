import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { Subjects } from "../wire/subjects.ts";
import { REACHED_MAX, ReachedNodes } from "./reached-nodes.ts";

test("an application with very many receivers does not make the nodes of others forgotten", () => {
  const subjects = new Subjects("parley", "n1");
  const reached = new ReachedNodes(() => true);
  const eve = subjects.peer(anAppId("small"), "eve");
  reached.add(eve, "n2");
  for (let peer = 0; peer < REACHED_MAX + 10; peer++) reached.add(subjects.peer(anAppId("large"), `p${peer}`), "n3");
  expect([reached.size, reached.of(eve)]).toEqual([REACHED_MAX, ["n2"]]);
  expect([
    reached.of(subjects.peer(anAppId("large"), "p0")),
    reached.of(subjects.peer(anAppId("large"), "p100")),
  ]).toEqual([[], ["n3"]]);
  reached.remove(eve, "n2");
  expect([reached.size, reached.of(eve)]).toEqual([REACHED_MAX - 1, []]);
});
