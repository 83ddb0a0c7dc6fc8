/** A control for each kind of field that a room has, with its meaning. */
import type { ComponentChildren } from "preact";
import { fieldOf, type RoomDraft, type RoomFieldName } from "../../drafts/room-draft.ts";
import { duration } from "../../text/format.ts";
import { Check, Select, Text } from "../../ui/fields.tsx";

/** `code` in a sentence. */
const prose = (text: string): ComponentChildren =>
  text.split("`").map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));

const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`;

const PRIVACY = [
  ["public", "public"],
  ["private", "private"],
] as const;

interface RoomFieldsProps {
  readonly names: readonly RoomFieldName[];
  readonly draft: RoomDraft;
  readonly onChange: (draft: RoomDraft) => void;
  readonly isDisabled?: boolean;
}

export function RoomFields({ names, draft, onChange, isDisabled = false }: RoomFieldsProps) {
  const isFlag = (name: RoomFieldName): boolean => fieldOf(name).kind === "flag";
  const control = (name: RoomFieldName) => (
    <RoomField
      key={name}
      name={name}
      value={draft[name]}
      isDisabled={isDisabled}
      onInput={(value) => onChange({ ...draft, [name]: value })}
    />
  );
  return (
    <>
      <div class="room-fields">{names.filter((name) => !isFlag(name)).map(control)}</div>
      <div class="room-fields">{names.filter(isFlag).map(control)}</div>
    </>
  );
}

interface RoomFieldProps {
  readonly name: RoomFieldName;
  readonly value: string | boolean;
  readonly onInput: (value: string | boolean) => void;
  readonly isDisabled: boolean;
}

function RoomField({ name, value, onInput, isDisabled }: RoomFieldProps) {
  const { kind, meaning } = fieldOf(name);
  const shared = { label: name, help: prose(sentence(meaning)), isDisabled };
  if (typeof value === "boolean") return <Check {...shared} checked={value} onChange={onInput} />;
  if (kind === "privacy")
    return <Select {...shared} value={value as "public" | "private"} options={PRIVACY} onChange={onInput} />;
  const text = { ...shared, value, onInput };
  if (kind === "time") return <Text {...text} type="datetime-local" step={1} help={prose(timeMeaning(meaning))} />;
  if (kind === "count") return <Text {...text} type="number" min={0} placeholder="PARLEY_MESH_MAX" />;
  if (kind === "seconds")
    return (
      <Text
        {...text}
        type="number"
        min={0}
        placeholder="no limit"
        help={`${sentence(meaning)} In seconds${Number(value) > 0 ? `: ${duration(Number(value))}` : ""}.`}
      />
    );
  return <Text {...text} {...(kind === "webhook" && { placeholder: "https://…" })} />;
}

/** Here it is entered as a time of day, in the browser's zone. */
const timeMeaning = (meaning: string): string =>
  `${sentence(meaning.replace("; Unix seconds", ""))} In your time zone.`;
