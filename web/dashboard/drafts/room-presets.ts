/** What a new room can start with. Each has fields of its own, and leaves all others as they are. */
import { draftOf, type RoomDraft, type RoomFieldName } from "./room-draft.ts";

interface Preset {
  readonly title: string;
  readonly help: string;
  readonly fields: Readonly<Partial<Record<RoomFieldName, string | boolean>>>;
}

export const PRESETS = {
  lobby: {
    title: "With lobby",
    help: "People ask to join, and a host lets them in.",
    fields: { privacy: "private", enableRequestToJoin: true },
  },
  webinar: {
    title: "Webinar",
    help: "Hosts speak; everyone else watches and can write in the chat.",
    fields: { ownerOnlyBroadcast: true },
  },
  audio: { title: "Audio only", help: "Microphones, but no cameras or screens.", fields: { audioOnlyRoom: true } },
  recorded: {
    title: "Recorded",
    help: "Recorded from the first second. People are asked to agree first.",
    fields: { recordRoom: true },
  },
} as const satisfies Readonly<Record<string, Preset>>;

export type PresetName = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];

const fieldsOf = (name: PresetName): [RoomFieldName, string | boolean][] =>
  Object.entries((PRESETS[name] as Preset).fields) as [RoomFieldName, string | boolean][];

const DEFAULTS = draftOf({});

/** The draft with or without what this preset sets. */
export const withPreset = (draft: RoomDraft, name: PresetName, isOn: boolean): RoomDraft => ({
  ...draft,
  ...Object.fromEntries(fieldsOf(name).map(([field, value]) => [field, isOn ? value : DEFAULTS[field]])),
});

/** Those that the draft follows. */
export const presetsOf = (draft: RoomDraft): readonly PresetName[] =>
  PRESET_NAMES.filter((name) => fieldsOf(name).every(([field, value]) => draft[field] === value));
