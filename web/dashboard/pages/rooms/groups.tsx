/** The fields of a room, in groups. Fields that would have no effect are left out. */
import { useEffect, useId, useRef } from "preact/hooks";
import { parameters } from "../../address/router.ts";
import {
  draftOf,
  fieldOf,
  hasEffect,
  type RoomDraft,
  type RoomFieldName,
  scheduleProblem,
  valuesOf,
} from "../../drafts/room-draft.ts";
import { fromLocalInput } from "../../text/format.ts";
import { ROOM_GROUPS, ROOM_LABELS } from "../../text/room-labels.ts";
import { type Audience, audienceOf, people, roomMax } from "../../text/room-text.ts";
import { hasApiNames, showApiNames } from "../../ui/api-names.tsx";
import { Choices } from "../../ui/choices.tsx";
import { Check, Select, Text } from "../../ui/fields.tsx";
import { Card } from "../../ui/page.tsx";
import { Length, Moment } from "../../ui/time-fields.tsx";

interface GroupsProps {
  readonly draft: RoomDraft;
  readonly onChange: (draft: RoomDraft) => void;
  readonly meshMax: number;
  readonly isDisabled?: boolean;
}

const [FIRST, SECOND] = [ROOM_GROUPS.slice(0, 2), ROOM_GROUPS.slice(2)];

export const RoomGroups = (props: GroupsProps) => (
  <>
    <Check label="Show API names" checked={hasApiNames.value} onChange={showApiNames} />
    <div class="halves room-groups">
      {[FIRST, SECOND].map((groups, at) => (
        <div key={String(at)} class="stack">
          {groups.map((group) => (
            <Group key={group.title} group={group} {...props} />
          ))}
        </div>
      ))}
    </div>
  </>
);

const DEFAULTS = draftOf({});

function Group({
  group: { title, fields, more },
  ...props
}: GroupsProps & { readonly group: (typeof ROOM_GROUPS)[number] }) {
  const id = useId();
  const folded = useRef<HTMLDetailsElement>(null);
  const fieldset = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    if (parameters.peek().get("part") !== title) return;
    fieldset.current?.scrollIntoView({ block: "center" });
    fieldset.current?.querySelector("input")?.focus({ preventScroll: true });
  }, []);
  // Decided once: it does not close while someone types.
  const isOpen = useRef(more?.fields.some((name) => props.draft[name] !== DEFAULTS[name]));
  const controls = (names: readonly RoomFieldName[]) =>
    names.filter((name) => hasEffect(name, props.draft)).map((name) => <RoomField key={name} name={name} {...props} />);
  return (
    <Card title={<span id={id}>{title}</span>}>
      <fieldset ref={fieldset} class="form group" aria-labelledby={id}>
        {controls(fields)}
        {title === "Schedule" && <p class="muted small">Times are in your time zone, {TIME_ZONE}.</p>}
        {more && (
          // What the browser finds wrong must be in view.
          <details ref={folded} open={isOpen.current} onInvalidCapture={() => folded.current?.setAttribute("open", "")}>
            <summary>{more.title}</summary>
            <div class="form">{controls(more.fields)}</div>
          </details>
        )}
      </fieldset>
    </Card>
  );
}

const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone.replaceAll("_", " ");

const AUDIENCES: readonly { readonly value: Audience; readonly title: string; readonly help: string }[] = [
  { value: "anyone", title: "Anyone with the link", help: "The room is public." },
  { value: "lobby", title: "People ask to join", help: "A host lets them in. The room is private, with a lobby." },
  {
    value: "invited",
    title: "Only people with an access token",
    help: "Your backend makes a link for each person; the dashboard has none to send. The room is private.",
  },
];

const LANGUAGES = [
  ["en", "English"],
  ["de", "Deutsch"],
  ["es", "Español"],
  ["fr", "Français"],
] as const;

const HALF_HOUR_SEC = 1800;
const MEETING_LENGTHS_SEC = [HALF_HOUR_SEC, 2 * HALF_HOUR_SEC, 4 * HALF_HOUR_SEC];

function RoomField({
  name,
  draft,
  onChange,
  meshMax,
  isDisabled = false,
}: GroupsProps & { readonly name: RoomFieldName }) {
  const [label, help] = ROOM_LABELS[name];
  const shared = { label, help, apiName: name, isDisabled };
  const value = draft[name];
  const set = (next: string | boolean): void => onChange({ ...draft, [name]: next });
  if (name === "privacy")
    return (
      <Choices
        label={label}
        apiName={hasEffect("enableRequestToJoin", draft) ? "privacy, enableRequestToJoin" : name}
        value={audienceOf(valuesOf(draft))}
        options={AUDIENCES}
        isDisabled={isDisabled}
        onChange={(audience) =>
          onChange({
            ...draft,
            privacy: audience === "anyone" ? "public" : "private",
            // In a public room it says nothing, and stays as it is.
            ...(audience !== "anyone" && { enableRequestToJoin: audience === "lobby" }),
          })
        }
      />
    );
  // It is part of who can join.
  if (name === "enableRequestToJoin") return null;
  if (typeof value === "boolean") return <Check {...shared} checked={value} onChange={set} />;
  const text = { ...shared, value, onInput: set };
  switch (fieldOf(name).kind) {
    case "language": {
      const isListed = LANGUAGES.some(([tag]) => tag === value) || value === "";
      const options = isListed ? LANGUAGES : [...LANGUAGES, [value, value] as const];
      return <Select<string> {...shared} value={value || "en"} options={options} onChange={set} />;
    }
    case "time": {
      if (name !== "expireUnixSec") return <Moment {...text} />;
      const since = fromLocalInput(String(draft.notBeforeUnixSec));
      return <Moment {...text} picks={MEETING_LENGTHS_SEC} since={since} error={scheduleProblem(draft)} />;
    }
    case "seconds":
      return <Length {...text} />;
    case "count": {
      const most = roomMax(valuesOf(draft), meshMax);
      const isMore = Number(value) > most;
      return (
        <Text
          {...text}
          type="number"
          min={0}
          placeholder={String(most)}
          help={isMore ? `This service lets ${people(most)} into such a room.` : `At most ${most} on this service.`}
        />
      );
    }
    default:
      return <Text {...text} placeholder="https://…" />;
  }
}
