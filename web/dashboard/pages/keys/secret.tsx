/** Secrets that are shown once, their rotation, and the time that previous ones have left. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { post } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import { duration, exactTime } from "../../text/format.ts";
import { Dialog, Form, isTyped, nameToType, TypedName } from "../../ui/dialog.tsx";
import { Check, Select } from "../../ui/fields.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Snippet } from "../../ui/values.tsx";

interface SecretOnceProps {
  /** For the button that copies: "secret". */
  readonly what: string;
  readonly text: string;
  readonly children: ComponentChildren;
}

export const SecretOnce = ({ what, text, children }: SecretOnceProps) => (
  <div class="stack">
    <Notice kind="warn">{children}</Notice>
    <Snippet text={text} what={what} />
  </div>
);

/** Counts down to the end of a previous secret. */
export const Countdown = ({ endsAt }: { readonly endsAt: number }) => {
  const left = endsAt - nowSeconds.value;
  return <time title={exactTime(endsAt)}>{left > 0 ? `ends in ${duration(left)}` : "has ended"}</time>;
};

const GRACES = [
  ["", "as configured (24 h by default)"],
  ["0", "not at all: it ends now"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
  ["2592000", "30 days"],
] as const;

interface RotateProps<T> {
  readonly title: string;
  /** The call without `/rotate`. */
  readonly path: string;
  /** Earlier secrets that still work can be ended, too. */
  readonly canRetire?: boolean;
  /** What connects with the secret, and closes with it; absent: nothing. */
  readonly closes?: { readonly name: string; readonly connections: number | undefined };
  /** What the previous secret still does in its grace. */
  readonly children: ComponentChildren;
  readonly onDone: (answer: T) => void;
  readonly onClose: () => void;
}

export function RotateDialog<T>({ title, path, canRetire = true, closes, children, onDone, onClose }: RotateProps<T>) {
  const grace = useSignal<(typeof GRACES)[number][0]>("");
  const isLeak = useSignal(false);
  const typed = useSignal("");
  const isAtOnce = isLeak.value || grace.value === "0";
  const toType = closes && isAtOnce ? nameToType(closes.name, closes.connections) : undefined;
  const rotate = async (): Promise<void> => {
    const body = {
      ...(grace.value !== "" && !isLeak.value && { graceSec: Number(grace.value) }),
      ...(isLeak.value && { retirePrevious: true, graceSec: 0 }),
    };
    onDone(await post<T>(`${path}/rotate`, body));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        submit={isLeak.value ? "Rotate and end earlier secrets now" : "Rotate"}
        isDanger={isAtOnce}
        isDisabled={!isTyped(toType, typed.value)}
        onSubmit={rotate}
        onCancel={onClose}
      >
        <p>{children}</p>
        <Select
          label="The current secret still works for"
          value={isLeak.value ? "0" : grace.value}
          isDisabled={isLeak.value}
          options={GRACES}
          onChange={(value) => (grace.value = value)}
        />
        {canRetire && (
          <Check
            label="It has leaked: end every earlier secret at once"
            help="Even those that would still be valid. Anything that still uses one is refused from now on."
            checked={isLeak.value}
            onChange={(isOn) => (isLeak.value = isOn)}
          />
        )}
        <TypedName name={toType} value={typed.value} onInput={(value) => (typed.value = value)} />
      </Form>
    </Dialog>
  );
}
