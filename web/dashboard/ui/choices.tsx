/** A choice of a few, each with what it means: one of them, or any. */
import { useId } from "preact/hooks";
import { ApiName } from "./api-names.tsx";

interface OptionsProps<T extends string> {
  readonly label: string;
  /** What the API calls it. */
  readonly apiName?: string;
  readonly options: readonly { readonly value: T; readonly title: string; readonly help: string }[];
  readonly isDisabled?: boolean;
}

interface ChoicesProps<T extends string> extends OptionsProps<T> {
  /** undefined: none of them. */
  readonly value: T | undefined;
  readonly onChange: (value: T) => void;
}

export const Choices = <T extends string>({ value, onChange, ...rest }: ChoicesProps<T>) => (
  <Options {...rest} type="radio" isChosen={(one) => one === value} onChange={onChange} />
);

interface SwitchesProps<T extends string> extends OptionsProps<T> {
  readonly chosen: readonly T[];
  readonly onChange: (value: T, isOn: boolean) => void;
}

export const Switches = <T extends string>({ chosen, ...rest }: SwitchesProps<T>) => (
  <Options {...rest} type="checkbox" isChosen={(one) => chosen.includes(one)} />
);

interface AllProps<T extends string> extends OptionsProps<T> {
  readonly type: "radio" | "checkbox";
  readonly isChosen: (one: T) => boolean;
  readonly onChange: (value: T, isOn: boolean) => void;
}

function Options<T extends string>({ label, apiName, options, isDisabled, type, isChosen, onChange }: AllProps<T>) {
  const id = useId();
  return (
    <fieldset class="options" disabled={isDisabled === true}>
      <legend class="label-line">
        <span class="legend">{label}</span> <ApiName>{apiName}</ApiName>
      </legend>
      {options.map(({ value: one, title, help }) => (
        <label key={one} class="option">
          <input
            type={type}
            name={id}
            aria-labelledby={`${id}-${one}`}
            aria-describedby={`${id}-${one}-help`}
            checked={isChosen(one)}
            onChange={(event) => onChange(one, event.currentTarget.checked)}
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
