/** The name of a room, and the link that follows from it. */
import { nameFrom, nameProblem } from "../../drafts/room-draft.ts";
import { Text } from "../../ui/fields.tsx";

interface NameFieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** The address of the application. */
  readonly origin: string;
  /** What to know about the name. */
  readonly children: string;
  readonly isRequired?: boolean;
  readonly isDisabled?: boolean;
}

export const NameField = ({ value, onInput, origin, children, ...rest }: NameFieldProps) => (
  <Text
    {...rest}
    label="Name"
    apiName="roomName"
    value={value}
    onInput={(typed) => onInput(nameFrom(typed))}
    error={nameProblem(value)}
    placeholder="team-meeting"
    help={
      value === "" ? (
        children
      ) : (
        <>
          Its link: <code>{`${origin}/${value}`}</code>. {children}
        </>
      )
    }
  />
);
