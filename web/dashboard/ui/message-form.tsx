/** A message written by hand: JSON with a check while one types, and the name of its sender. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { post } from "../api/client.ts";
import { Form } from "./dialog.tsx";
import { Text } from "./fields.tsx";
import { messageOf, toast } from "./notice.tsx";

interface MessageFormProps {
  /** Takes `{data, from}`. */
  readonly path: string;
  readonly submit: string;
  /** Shown when it has been delivered. */
  readonly done: string;
  readonly onDone?: () => void;
  readonly onCancel?: () => void;
  /** What `children` say is not complete. */
  readonly isDisabled?: boolean;
  /** Fields above: where it goes. */
  readonly children?: ComponentChildren;
}

const FROM = /^[\x20-\x7e]{1,128}$/;

/** What is wrong with a JSON text; undefined: nothing. */
function problemOf(json: string): string | undefined {
  try {
    JSON.parse(json);
    return undefined;
  } catch (error) {
    return `This is not valid JSON: ${messageOf(error)}.`;
  }
}

export function MessageForm({ path, submit, done, onDone, onCancel, isDisabled, children }: MessageFormProps) {
  const data = useSignal('{\n  "text": "Hello from the dashboard"\n}');
  const from = useSignal("server");
  const problem = problemOf(data.value);
  const isFromValid = FROM.test(from.value);
  const send = async (): Promise<void> => {
    // As text: parsed and written again, numbers of more than 15 digits would change.
    await post(path, `{"data":${data.value},"from":${JSON.stringify(from.value)}}`);
    toast(done);
    onDone?.();
  };
  return (
    <Form
      submit={submit}
      onSubmit={send}
      isDisabled={isDisabled === true || problem !== undefined || !isFromValid}
      {...(onCancel && { onCancel })}
    >
      {children}
      <Text label="Data (JSON)" rows={5} value={data.value} error={problem} onInput={(value) => (data.value = value)} />
      <Text
        label="From"
        value={from.value}
        help="Receivers see this as the sender's peer id."
        error={isFromValid ? undefined : "1 to 128 printable ASCII characters."}
        onInput={(value) => (from.value = value)}
      />
    </Form>
  );
}
