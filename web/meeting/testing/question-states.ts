/** States of the page that ask something, or say what comes, for states.tsx. */
import type { Refused } from "../page/api.ts";
import { dialog } from "../ui/view.ts";
import { DOOR, type Fakes } from "./fakes.ts";

type Enter = (fakes: Fakes, inside: { readonly joined?: object; readonly count?: number }) => Promise<void>;
type Refuse = (fakes: Fakes, code: string, more?: Refused["more"]) => Promise<void>;

const HOST = { isAdmin: true } as const;

export const questionStates = (
  enter: Enter,
  refuse: Refuse,
): Readonly<Record<string, (fakes: Fakes) => Promise<void> | void>> => ({
  "alone-early": async (fakes) => {
    const { visit, api } = fakes;
    // The longest name of a day in German.
    api.doorNow = () => ({
      ...DOOR,
      inside: 0,
      opensAt: 1_916_668_800,
      you: { name: "", isAdmin: true, isInvited: true },
    });
    await visit.start("Ada Lovelace");
    await enter(fakes, { count: 0, joined: HOST });
  },
  "leave-question": async (fakes) => {
    await enter(fakes, { joined: HOST });
    fakes.room().show(...fakes.room().inside.map((one) => ({ ...one, isAdmin: false })));
    dialog.value = "leave";
  },
  "end-question": async (fakes) => {
    await enter(fakes, { joined: HOST });
    dialog.value = "end";
  },
  "lobby-full": (fakes) => refuse(fakes, "lobby_full"),
  locked: (fakes) => refuse(fakes, "room_locked"),
});
