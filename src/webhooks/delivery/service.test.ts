import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { World } from "../testing/world.ts";
import { WebhookService } from "./service.ts";

test("one replay of an endpoint runs at a time", async () => {
  await using world = await World.open("w1", "w2");
  const begun = Promise.withResolvers<number>();
  const { webhooks } = world.store;
  const store = Object.assign(Object.create(webhooks), {
    replay: (id: string) => (id === "w1" ? begun.promise : Promise.resolve(0)),
  }) as typeof webhooks;
  const parts = { ...world.parts, store, leader: { nudge: () => undefined } };
  const app = () => ({ id: anAppId("a"), name: "shop" });
  const service = new WebhookService({ ...parts, app, records: { room: (row) => row, recording: (row) => row } });
  const first = service.replay("w1", 0);
  await expect(service.replay("w1", 0)).rejects.toMatchObject({ code: "rate_limited" });
  expect(await service.replay("w2", 0)).toBe(0);
  begun.resolve(7);
  expect([await first, await service.replay("w1", 0)]).toEqual([7, 7]);
});
