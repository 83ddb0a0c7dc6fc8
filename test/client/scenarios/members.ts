import { same, sameSet } from "./check.ts";
import type { Person, Scenario, Stage, View } from "./stage.ts";

const JOINERS = 30;
const SIGNALS = 16;
const TALKERS = 20;

/** That many members of a channel, joining at the same moment, who know each other. */
export async function crowd(stage: Stage, channel: string, count: number): Promise<View[]> {
  const people: Person[] = Array.from({ length: count }, (_, at) =>
    stage.person({ name: `peer${at}`, claims: { peerMetadata: { seat: at } } }),
  );
  const views = people.map((person) => person.view(channel));
  await Promise.all(views.map((view) => view.channel.subscribed));
  await stage.acquainted(views);
  return views;
}

export const members: readonly Scenario[] = [
  {
    name: `${JOINERS} join at the same moment: each sees every other exactly once, with its metadata`,
    run: async (stage) => {
      const channel = stage.channel();
      const views = await crowd(stage, channel, JOINERS);
      const last = await stage.joinLast(channel, views);
      const ids = views.map(({ person }) => person.id);
      for (const view of views) {
        const { id } = view.person;
        sameSet(view.joined, [...ids.filter((one) => one !== id), last.id], `joined, as ${id} saw it`);
        same(view.left, []);
        for (const { peerId, metadata } of view.channel.presence.members)
          if (peerId !== last.id) same(metadata, { seat: ids.indexOf(peerId) });
        same(view.person.states, ["connected"]);
      }
    },
  },
  {
    name: "a member that closes is seen leaving once, and one that returns is seen joining once more",
    run: async (stage) => {
      const channel = stage.channel();
      const views = await crowd(stage, channel, 3);
      const leaver = (await stage.connected({ name: "leaver" })).view(channel);
      await stage.acquainted([...views, leaver]);
      leaver.person.parley.close();
      await stage.acquainted(views);
      const returned = (await stage.connected({ name: "leaver" })).view(channel);
      await stage.acquainted([...views, returned]);
      const id = stage.id("leaver");
      await stage.joinLast(channel, views);
      for (const view of views) {
        same(view.left, [id]);
        same(
          view.joined.filter((one) => one === id),
          [id, id],
        );
      }
    },
  },
  {
    name: "who sends right after its subscribe, before its roster, is known to the receivers",
    run: async (stage) => {
      const channel = stage.channel();
      const listener = (await stage.connected({ name: "listener" })).view(channel);
      await listener.channel.subscribed;
      // Its roster is there: before that, it knows no one.
      await stage.joinLast(channel, [listener]);
      const { log } = listener.person;
      log.length = 0;
      const whisper = await stage.connected({ name: "whisper" });
      await whisper.parley.channel(channel).subscribe();
      await whisper.parley.send(listener.person.id, "first message");
      const shout = await stage.connected({ name: "shout" });
      await shout.parley.channel(channel).subscribe();
      await shout.parley.channel(channel).publish("first message");
      await stage.until("the first messages do not arrive", () => log.length === 4);
      same(log, [`joined ${whisper.id}`, `direct ${whisper.id}`, `joined ${shout.id}`, `message ${shout.id}`]);
    },
  },
  {
    name: `${TALKERS} join at once, and each sends the others ${SIGNALS} direct messages: no connection is closed, all arrive in order`,
    run: async (stage) => {
      const views = await crowd(stage, stage.channel(), TALKERS);
      await Promise.all(
        views.flatMap(({ person, members: others }) =>
          others.flatMap((id) => Array.from({ length: SIGNALS }, (_, at) => person.parley.send(id, at))),
        ),
      );
      const expected = (TALKERS - 1) * SIGNALS;
      await stage.until("not all arrive", () => views.every(({ person }) => person.directs.length >= expected));
      for (const { person, members: others } of views) {
        same(person.states, ["connected"]);
        same(person.directs.length, expected);
        for (const id of others)
          same(
            person.directs.filter(({ from }) => from === id).map(({ data }) => data),
            Array.from({ length: SIGNALS }, (_, at) => at),
          );
      }
    },
  },
];
