/** A choice of a few, each with what it means. */
import { useId } from "preact/hooks";

interface ChoicesProps<T extends string> {
  readonly label: string;
  /** What the API calls it. */
  readonly apiName?: string;
  /** undefined: none of them. */
  readonly value: T | undefined;
  readonly options: readonly { readonly value: T; readonly title: string; readonly help: string }[];
  readonly onChange: (value: T) => void;
  readonly isDisabled?: boolean;
}

export function Choices<T extends string>({ label, apiName, value, options, onChange, isDisabled }: ChoicesProps<T>) {
  const id = useId();
  return (
    <fieldset class="options" disabled={isDisabled === true}>
      <legend class="label-line">
        <span class="legend">{label}</span> {apiName && <code class="api-name">{apiName}</code>}
      </legend>
      {options.map(({ value: one, title, help }) => (
        <label key={one} class="option">
          <input
            type="radio"
            name={id}
            aria-labelledby={`${id}-${one}`}
            aria-describedby={`${id}-${one}-help`}
            checked={one === value}
            onChange={() => onChange(one)}
          />
          <span>
            <span id={`${id}-${one}`}>{title}</span>
            <span id={`${id}-${one}-help`} class="option-help muted small">
              {help}
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
