/** States of the page with names that are long, or written from right to left, for states.tsx. */
import { dialog, panel } from "../ui/view.ts";
import { DOOR, type Fakes, JOINED } from "./fakes.ts";

type Enter = (
  fakes: Fakes,
  inside: { readonly joined?: object; readonly count?: number; readonly hasScreen?: boolean },
) => Promise<void>;

/** Each has 60 characters; the third begins from left to right. */
const NAMES = [
  "עדה לאבלייס, הרוזנת של לאבלייס, מתכנתת המחשבים הראשונה בעולם",
  "محمد بن موسى الخوارزمي، عالم الرياضيات والفلك والجغرافيا 780",
  "Ruth רות בן־דוד (Engineering, הנדסה) and the whole team, Haifa",
  "שרה (Host)",
] as const;
const ROOM = "quarterly-planning-of-all-teams-in-the-north-and-the-south-1";

async function inside(fakes: Fakes, enter: Enter, isAdmin = true): Promise<void> {
  await enter(fakes, {
    count: 4,
    hasScreen: true,
    joined: { name: NAMES[0], isAdmin, room: { ...JOINED.room, roomName: ROOM, enableRecording: true } },
  });
  const room = fakes.room();
  room.show(...room.inside.map((one, at) => ({ ...one, name: NAMES[at % NAMES.length] ?? "", isGuest: at % 2 === 1 })));
  room.emit(
    "queue",
    [1, 3].map((at) => ({ waitId: `w${at}`, name: NAMES[at] ?? "", since: 0 })),
  );
}

const said = (fakes: Fakes, name: string, text: string, at: number): void =>
  fakes.room().emit("chat", {
    id: `rtl ${at}`,
    from: `p${at}`,
    name,
    text,
    isAdmin: at === 0,
    isGuest: at === 1,
    timeMs: 600_000 + at * 60_000,
    isEarlier: true,
  });

export const nameStates = (enter: Enter): Readonly<Record<string, (fakes: Fakes) => Promise<void> | void>> => ({
  "names-door": async ({ visit, api }) => {
    api.doorNow = () => ({ ...DOOR, roomName: ROOM, you: { name: NAMES[3], isAdmin: true, isInvited: true } });
    await visit.start("");
  },
  "names-people": async (fakes) => {
    await inside(fakes, enter);
    panel.value = "people";
  },
  "names-chat": async (fakes) => {
    await inside(fakes, enter);
    fakes.room().emit("notice", { notice: "recording", on: true, fact: { by: NAMES[3], since: 1 } });
    fakes.visit.recording.agree();
    said(fakes, NAMES[0], "האם כולם רואים את המסך? https://wiki.example.com/agenda?view=1#a", 0);
    said(fakes, NAMES[1], "نعم، 100%.", 1);
    said(fakes, NAMES[2], "Yes (כן).", 2);
    panel.value = "chat";
  },
  "names-remove": async (fakes) => {
    await inside(fakes, enter);
    dialog.value = { remove: "p3", name: NAMES[3], isGuest: true };
  },
  "names-consent": async (fakes) => {
    await inside(fakes, enter, false);
    fakes.room().emit("notice", { notice: "recording", on: true, fact: { by: NAMES[1], since: 1 } });
  },
  "names-unreached": async (fakes) => {
    await inside(fakes, enter, false);
    fakes.visit.session.unreached.value = new Map([
      ["p1", true],
      ["p3", true],
    ]);
    fakes.room().emit("left", { ...(fakes.room().inside[3] ?? fail()) });
  },
  "names-removed": async (fakes) => {
    await inside(fakes, enter, false);
    fakes.room().emit("ended", "removed");
  },
});

function fail(): never {
  throw new Error("No one is inside.");
}
