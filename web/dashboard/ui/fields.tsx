/** Fields of forms: each with its label, a sentence of help, and its own error. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { ApiName } from "./api-names.tsx";

/** A label, with the name that the API has for it. */
interface Labelled {
  readonly label: string;
  readonly apiName?: string | undefined;
}

interface FieldProps extends Labelled {
  readonly help?: ComponentChildren;
  readonly error?: string | undefined;
  /** Gets the attributes that tie the input to its label, help and error. */
  readonly children: (attributes: FieldAttributes) => ComponentChildren;
}

export interface FieldAttributes {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean | undefined;
}

export function Field({ label, apiName, help, error, children }: FieldProps) {
  const id = useId();
  const described = [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <div class="label-line">
        <label for={id}>{label}</label> <ApiName>{apiName}</ApiName>
      </div>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined })}
      {help && (
        <p id={`${id}-help`} class="muted small">
          {help}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} class="bad small">
          {error}
        </p>
      )}
    </div>
  );
}

interface TextProps extends Labelled {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly help?: ComponentChildren;
  readonly error?: string | undefined;
  readonly placeholder?: string;
  readonly type?: "text" | "password" | "number" | "search" | "datetime-local" | "date";
  readonly isRequired?: boolean;
  readonly isDisabled?: boolean;
  readonly maxLength?: number;
  readonly min?: number;
  readonly max?: number;
  /** The step of a number or a time: a time with 1 has seconds. */
  readonly step?: number;
  readonly rows?: number;
  readonly autoFocus?: boolean;
}

/** With `rows` a text of several lines. */
export const Text = ({
  label,
  apiName,
  value,
  onInput,
  help,
  error,
  rows,
  isRequired,
  isDisabled,
  ...rest
}: TextProps) => (
  <Field label={label} apiName={apiName} help={help} error={error}>
    {(attributes) => {
      const shared = {
        ...attributes,
        ...rest,
        value,
        required: isRequired === true,
        disabled: isDisabled === true,
        autocomplete: "off" as const,
        autocapitalize: "off" as const,
        spellcheck: false,
        onInput: (event: Event) => onInput((event.currentTarget as HTMLInputElement).value),
      };
      const { type = "text", ...area } = shared;
      return rows === undefined ? <input {...area} type={type as "text"} /> : <textarea {...area} rows={rows} />;
    }}
  </Field>
);

interface CheckProps {
  readonly label: ComponentChildren;
  readonly apiName?: string | undefined;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly help?: ComponentChildren;
  readonly isDisabled?: boolean;
}

export function Check({ label, apiName, checked, onChange, help, isDisabled }: CheckProps) {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={isDisabled === true}
        aria-describedby={help ? `${id}-help` : undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <div>
        <div class="label-line">
          <label for={id}>{label}</label> <ApiName>{apiName}</ApiName>
        </div>
        {help && (
          <p id={`${id}-help`} class="muted small">
            {help}
          </p>
        )}
      </div>
    </div>
  );
}

interface SelectProps<T extends string> extends Labelled {
  readonly value: T;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly onChange: (value: T) => void;
  readonly help?: ComponentChildren;
  readonly isDisabled?: boolean;
}

export const Select = <T extends string>({
  label,
  apiName,
  value,
  options,
  onChange,
  help,
  isDisabled,
}: SelectProps<T>) => (
  <Field label={label} apiName={apiName} help={help}>
    {(attributes) => (
      <select
        {...attributes}
        value={value}
        disabled={isDisabled === true}
        onChange={(event) => onChange(event.currentTarget.value as T)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface SegmentedProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly onChange: (value: T) => void;
}

/** A choice of a few, all visible: 15 min, 3 h, 24 h. */
export function Segmented<T extends string>({ label, value, options, onChange }: SegmentedProps<T>) {
  const name = useId();
  return (
    <fieldset class="segmented">
      <legend class="hidden-text">{label}</legend>
      {options.map(([one, text]) => (
        <label key={one} class={one === value ? "chosen" : ""}>
          <input type="radio" class="hidden-text" name={name} checked={one === value} onChange={() => onChange(one)} />
          {text}
        </label>
      ))}
    </fieldset>
  );
}

interface SearchProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly onInput: (value: string) => void;
}

/** A search field whose label only screen readers get. */
export function Search({ label, value, placeholder, onInput }: SearchProps) {
  return (
    <input
      type="search"
      class="search"
      aria-label={label}
      placeholder={placeholder ?? label}
      value={value}
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}
