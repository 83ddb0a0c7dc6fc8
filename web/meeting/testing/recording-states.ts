/** States of the page that are about the recording, for states.tsx. */
import { dialog, panel } from "../ui/view.ts";
import { DOOR, type Fakes, JOINED } from "./fakes.ts";

type Enter = (fakes: Fakes, inside: { readonly joined?: object; readonly count?: number }) => Promise<void>;
type State = (fakes: Fakes) => Promise<void> | void;

const HOST = { joined: { isAdmin: true, room: { roomName: "standup", enableRecording: true } } } as const;
const MINUTE_BYTES = 60 * 190_000;

const started = ({ room }: Fakes, by: string): void =>
  room().emit("notice", { notice: "recording", on: true, fact: { by, since: 1 } });

/** Recorded by this person, who has agreed with that. */
async function recorded(fakes: Fakes, enter: Enter, by = "Grace Hopper"): Promise<void> {
  await enter(fakes, HOST);
  const people = fakes.room().inside;
  fakes.room().show(...people.map((one, at) => ({ ...one, state: { ...one.state, recording: at !== 1 } })));
  await fakes.visit.recording.record(true);
  started(fakes, by);
}

const recordedDoor = { ...DOOR, recording: true };

export const recordingStates = (enter: Enter): Readonly<Record<string, State>> => ({
  "door-recorded": async ({ visit, api, uploads }) => {
    api.doorNow = () => recordedDoor;
    uploads.pending.value = { runs: 1, seconds: 40, bytes: MINUTE_BYTES };
    await visit.start("Ada Lovelace");
  },
  "door-recorded-private": async ({ visit, api }) => {
    api.doorNow = () => ({ ...recordedDoor, privacy: "private" });
    await visit.start("");
  },
  consent: ({ visit, api }) => {
    api.doorNow = () => ({ ...recordedDoor, autoJoin: true });
    void visit.start("Ada Lovelace");
  },
  "consent-by": ({ visit, api }) => {
    api.answer = () => ({ ...JOINED, recording: { by: "Grace Hopper", since: 1 } });
    void visit.enter("Ada Lovelace");
  },
  "consent-inside": async (fakes) => {
    await enter(fakes, {});
    started(fakes, "Grace Hopper");
  },
  "consent-inside-room": async (fakes) => {
    await enter(fakes, { count: 1 });
    started(fakes, "");
  },
  "record-question": async (fakes) => {
    await enter(fakes, HOST);
    dialog.value = "record";
  },
  recorded: async (fakes) => {
    await recorded(fakes, enter);
    panel.value = "people";
  },
  "recorded-long": async (fakes) => {
    await recorded(fakes, enter, "Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh the Second of X");
    fakes.room().emit("notice", { notice: "locked", on: true });
  },
  "recorded-failed": async (fakes) => {
    await recorded(fakes, enter);
    fakes.uploads.fail("storage_full");
  },
  "recorded-memory": async (fakes) => {
    await recorded(fakes, enter);
    fakes.uploads.isInMemory.value = true;
  },
  "left-uploading": async (fakes) => {
    await recorded(fakes, enter);
    fakes.visit.leave();
    fakes.uploads.pending.value = { runs: 2, seconds: 60, bytes: MINUTE_BYTES };
    await drawn();
    fakes.uploads.pending.value = { runs: 2, seconds: 24, bytes: MINUTE_BYTES * 0.4 };
  },
  "left-uploaded": async (fakes) => {
    await recorded(fakes, enter);
    fakes.visit.leave();
    fakes.uploads.pending.value = { runs: 1, seconds: 2, bytes: 1 };
    await drawn();
    fakes.uploads.pending.value = { runs: 0, seconds: 0, bytes: 0 };
  },
  "removed-recorded": async (fakes) => {
    await recorded(fakes, enter);
    fakes.uploads.pending.value = { runs: 1, seconds: 2, bytes: 380_000 };
    fakes.room().emit("ended", "removed");
    await drawn();
    fakes.uploads.fail("refused");
    fakes.uploads.pending.value = { runs: 0, seconds: 0, bytes: 0 };
  },
  "ended-uploading": async (fakes) => {
    await recorded(fakes, enter);
    fakes.uploads.pending.value = { runs: 1, seconds: 3, bytes: 500_000 };
    fakes.room().emit("ended", "ended");
  },
});

const drawn = (): Promise<void> => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
