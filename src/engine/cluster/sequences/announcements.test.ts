import { describe, expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { MemberState } from "../../engine.ts";
import { sequenceItem } from "../wire/decode.ts";
import { JSON_FORMAT } from "../wire/format.ts";
import { Announcements } from "./announcements.ts";
import { OutgoingSequences } from "./outgoing-sequences.ts";

const A = anAppId("a");

const member = (peerId: string, since = 1): MemberState => ({ peerId, since, node: "node", metadataJson: undefined });

function recording() {
  const sent: string[] = [];
  const outgoing = new OutgoingSequences(
    "node",
    (spaceId, channel) => `${spaceId} ${channel}`,
    () => 0,
  );
  const announcements = new Announcements(
    outgoing,
    (subject, text) => {
      const item = sequenceItem(text);
      const { joined, left } = item?.kind === "members" ? item.change : { joined: [], left: ["invalid"] };
      sent.push(`${subject} +${joined.map(({ peerId }) => peerId)} -${left}`);
    },
    JSON_FORMAT,
  );
  const join = (...peerIds: string[]): void => {
    for (const peerId of peerIds) announcements.add(A, "c", [member(peerId)], []);
  };
  return { sent, announcements, join };
}

describe("announcements", () => {
  test("one at a time are sent at once", () => {
    const { sent, join } = recording();
    join("x", "y");
    expect(sent).toEqual(["a c +x -", "a c +y -"]);
  });

  test("those of a channel that is opened are joined, and sent when it is open", () => {
    const { sent, announcements, join } = recording();
    announcements.collect(A, "c", () => {
      join("x", "y", "z");
      expect(sent).toEqual([]);
    });
    join("later");
    expect(sent).toEqual(["a c +x,y,z -", "a c +later -"]);
  });

  test("stay in order with leaves, other channels, and a second change of the same peer", () => {
    const { sent, announcements, join } = recording();
    announcements.collect(A, "c", () => {
      join("x", "y");
      announcements.add(A, "c", [], ["x"]);
      join("y", "x");
      announcements.add(A, "other", [member("x")], []);
      join("x", "x");
    });
    expect(sent).toEqual(["a c +x,y -", "a c + -x", "a c +y,x -", "a other +x -", "a c +x -", "a c +x -"]);
  });

  test("that cannot be sent do not hold up later ones", () => {
    const sent: string[] = [];
    let isBroken = true;
    const outgoing: ConstructorParameters<typeof Announcements>[0] = {
      append: () => {
        if (isBroken) throw new Error("broken");
        return { subject: "s", item: "i" };
      },
    };
    const announcements = new Announcements(outgoing, (subject) => sent.push(subject), JSON_FORMAT);
    const open = (): void => announcements.collect(A, "c", () => announcements.add(A, "c", [member("x")], []));
    expect(open).toThrow("broken");
    isBroken = false;
    open();
    announcements.add(A, "c", [member("y")], []);
    expect(sent).toHaveLength(2);
  });

  test("are sent before what is published next, and after an error", () => {
    const { sent, announcements, join } = recording();
    const work = (): void =>
      announcements.collect(A, "c", () => {
        join("x");
        announcements.flush();
        expect(sent).toEqual(["a c +x -"]);
        join("y");
        throw new Error("broken");
      });
    expect(work).toThrow("broken");
    expect(sent).toEqual(["a c +x -", "a c +y -"]);
    join("z");
    expect(sent).toHaveLength(3);
  });
});
