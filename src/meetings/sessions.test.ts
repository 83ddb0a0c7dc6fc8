import { expect, test } from "bun:test";
import { anAppId } from "../base/testing/ids.ts";
import { entering } from "../store/testing/meetings.ts";
import { sqlitePlaces, withApps } from "../store/testing/places.ts";
import { Sessions } from "./sessions.ts";

const A = anAppId("a");
const newPlace = sqlitePlaces();

test("the people in all active meetings are counted with as many statements as those in one", async () => {
  const store = await withApps(await newPlace());
  for (let i = 0; i < 30; i++)
    await store.meetings.enter(entering(`p${i}`, `room-${i % 20}`, { newMeeting: `m${i}` }), 9, 100 + i);
  let calls = 0;
  const counted = new Proxy(store.meetings, {
    get: (target, name: keyof typeof store.meetings) => {
      calls++;
      return target[name].bind(target);
    },
  });
  const sessions = new Sessions({ store: counted, rooms: store.rooms, nowMs: () => 1000 });
  const active = await sessions.active(A);
  expect(active.map(({ meeting, inside }) => [meeting.room, inside])).toEqual(
    Array.from({ length: 20 }, (_, i) => [`room-${19 - i}`, i >= 10 ? 2 : 1]),
  );
  expect(calls).toBe(2);
  await store.close();
});
