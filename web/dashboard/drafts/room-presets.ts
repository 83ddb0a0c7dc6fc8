/** What a new room can start from. */
import { draftOf, type RoomDraft, type RoomFieldName } from "./room-draft.ts";

interface Preset {
  readonly title: string;
  readonly help: string;
  readonly fields: Readonly<Partial<Record<RoomFieldName, string | boolean>>>;
}

export const PRESETS = {
  open: { title: "Open", help: "Anyone with the link joins.", fields: { privacy: "public" } },
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
/** All fields that some preset sets. */
const GOVERNED = [...new Set(PRESET_NAMES.flatMap((name) => fieldsOf(name).map(([field]) => field)))];

/** The draft as this preset has it. Fields that no preset is about stay as they are. */
export const withPreset = (draft: RoomDraft, name: PresetName): RoomDraft => ({
  ...draft,
  ...Object.fromEntries(GOVERNED.map((field) => [field, DEFAULTS[field]])),
  ...Object.fromEntries(fieldsOf(name)),
});

/** The preset that the draft still follows: the chosen one, if possible; undefined: none. */
export function presetOf(draft: RoomDraft, chosen: PresetName): PresetName | undefined {
  const isFollowed = (name: PresetName): boolean => fieldsOf(name).every(([field, value]) => draft[field] === value);
  return isFollowed(chosen) ? chosen : PRESET_NAMES.find((name) => name !== "open" && isFollowed(name));
}
