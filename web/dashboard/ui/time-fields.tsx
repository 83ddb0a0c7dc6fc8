/** Fields for a moment, with the browser's picker, and for a length of time. */
import { useSignal } from "@preact/signals";
import { nowSeconds } from "../api/now.ts";
import { appointment, duration, fromLocalInput, relative, toLocalInput } from "../text/format.ts";
import { Field } from "./fields.tsx";

interface TimeFieldProps {
  readonly label: string;
  readonly apiName?: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly help?: string | undefined;
  readonly error?: string | undefined;
  readonly isDisabled?: boolean;
}

interface MomentProps extends TimeFieldProps {
  /** Buttons that set it to this number of seconds after `since`, or after now. */
  readonly picks?: readonly number[];
  readonly since?: number | undefined;
}

/** `value` is that of an input of the type datetime-local: in the browser's time zone, empty for none. */
export function Moment({ label, apiName, value, onInput, help, error, isDisabled, picks = [], since }: MomentProps) {
  const seconds = fromLocalInput(value);
  const pick = (length: number): void => {
    // Without a time to begin with, from the next full minute.
    const from = since ?? Math.ceil(nowSeconds.peek() / 60) * 60;
    onInput(toLocalInput(from + length));
  };
  return (
    <Field
      label={label}
      apiName={apiName}
      error={error}
      help={seconds === undefined ? help : `${appointment(seconds)}, ${relative(seconds, nowSeconds.value)}.`}
    >
      {(attributes) => (
        <>
          <div class="row tight">
            <input
              {...attributes}
              type="datetime-local"
              // With a step of a minute, the picker has no seconds; a time that has some would count as wrong.
              step={(seconds ?? 0) % 60 === 0 ? 60 : 1}
              value={value}
              disabled={isDisabled === true}
              onInput={(event) => onInput(event.currentTarget.value)}
            />
            {seconds !== undefined && isDisabled !== true && (
              <button type="button" class="small quiet" aria-label={`Clear ${label}`} onClick={() => onInput("")}>
                Clear
              </button>
            )}
          </div>
          {picks.length > 0 && isDisabled !== true && (
            <div class="row picks">
              <span class="muted small">{since === undefined ? "From now:" : "After it opens:"}</span>
              {picks.map((length) => (
                <button key={length} type="button" class="small" onClick={() => pick(length)}>
                  {duration(length)}
                </button>
              ))}
            </div>
          )}
        </>
      )}
    </Field>
  );
}

const UNITS = [
  [1, "seconds"],
  [60, "minutes"],
  [3600, "hours"],
  [86_400, "days"],
] as const;

/** The largest unit of which it is a whole number. */
const unitOf = (seconds: number): number =>
  UNITS.findLast(([length]) => seconds > 0 && seconds % length === 0)?.[0] ?? 60;

/** `value` is a number of seconds; empty: none. */
export function Length({ label, apiName, value, onInput, help, error, isDisabled }: TimeFieldProps) {
  const unit = useSignal(unitOf(Number(value)));
  const set = (amount: string, of: number): void =>
    onInput(amount === "" ? "" : String(Math.round(Number(amount) * of)));
  const amount = value === "" ? "" : String(Number(value) / unit.value);
  return (
    <Field label={label} apiName={apiName} help={help} error={error}>
      {(attributes) => (
        <div class="row tight">
          <input
            {...attributes}
            type="number"
            min={0}
            step="any"
            inputMode="decimal"
            placeholder="no limit"
            value={amount}
            disabled={isDisabled === true}
            onInput={(event) => set(event.currentTarget.value, unit.value)}
          />
          <select
            aria-label={`${label}: unit`}
            value={String(unit.value)}
            disabled={isDisabled === true}
            onChange={(event) => {
              unit.value = Number(event.currentTarget.value);
              set(amount, unit.value);
            }}
          >
            {UNITS.map(([length, name]) => (
              <option key={length} value={String(length)}>
                {name}
              </option>
            ))}
          </select>
        </div>
      )}
    </Field>
  );
}
