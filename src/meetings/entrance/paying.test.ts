import { expect, test } from "bun:test";
import type { AppRow } from "../../store/contract/store.ts";
import { APP, callerAt, NO_LIMITS, World } from "../testing/world.ts";

test("a guest pays before its name is read, also with a ticket that is none", async () => {
  const world = await World.open();
  const { rooms, meetings } = world.node();
  const app = (await world.store.apps()).find(({ id }) => id === APP) as AppRow;
  await world.room(rooms);
  await world.room(rooms, { roomName: "private", privacy: "private" });
  const paid = new Error("paid");
  const guest = (): never => {
    throw paid;
  };
  for (const room of ["standup", "private"]) {
    const request = { name: "x".repeat(65), ticket: "none" };
    await expect(meetings.join(app, room, request, callerAt("a", { ...NO_LIMITS, guest }))).rejects.toBe(paid);
  }
  await world.close();
});
