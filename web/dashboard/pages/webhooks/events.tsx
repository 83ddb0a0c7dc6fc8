/** Which events a webhook gets: check boxes by what they are about. */
import { useEffect, useRef } from "preact/hooks";
import { WEBHOOK_EVENTS, type WebhookEvent } from "../../../../src/protocol/webhook-events.ts";
import { ALL, chosen, withTypes } from "../../drafts/webhook-draft.ts";
import { SUBJECTS } from "../../text/webhook-text.ts";
import { Check } from "../../ui/fields.tsx";

interface EventFieldsProps {
  readonly events: readonly string[];
  readonly onChange: (events: readonly string[]) => void;
}

export function EventFields({ events, onChange }: EventFieldsProps) {
  const on = chosen(events);
  return (
    <fieldset class="event-fields">
      <legend>Events</legend>
      <Check
        label="All events, including those of later versions"
        checked={events.includes(ALL)}
        onChange={(isOn) => onChange(isOn ? [ALL] : withTypes(events, WEBHOOK_EVENTS, false))}
      />
      <div class="event-groups">
        {SUBJECTS.map(({ title, events: texts }) => {
          const types = Object.keys(texts) as WebhookEvent[];
          const toggle = (some: readonly WebhookEvent[]) => (isOn: boolean) => onChange(withTypes(events, some, isOn));
          return (
            <fieldset key={title} class="event-group" aria-label={title}>
              <SomeOf
                title={title}
                count={types.filter((type) => on.includes(type)).length}
                of={types.length}
                onChange={toggle(types)}
              />
              {types.map((type) => (
                <Check
                  key={type}
                  label={texts[type]}
                  help={<code>{type}</code>}
                  checked={on.includes(type)}
                  onChange={toggle([type])}
                />
              ))}
            </fieldset>
          );
        })}
      </div>
    </fieldset>
  );
}

interface SomeOfProps {
  readonly title: string;
  readonly count: number;
  readonly of: number;
  readonly onChange: (isOn: boolean) => void;
}

/** The check box of a whole subject: neither on nor off while only some of its events are chosen. */
function SomeOf({ title, count, of, onChange }: SomeOfProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current) input.current.indeterminate = count > 0 && count < of;
  }, [count, of]);
  return (
    <label class="check event-subject">
      <input
        ref={input}
        type="checkbox"
        checked={count === of}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {title}
    </label>
  );
}
