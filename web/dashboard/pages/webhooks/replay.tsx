/** Sends again what has not succeeded since a time: after a receiver was away for longer than attempts last. */
import { useSignal } from "@preact/signals";
import { post } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import { fromLocalInput, toLocalInput, whole } from "../../text/format.ts";
import { Dialog, Form } from "../../ui/dialog.tsx";
import { Text } from "../../ui/fields.tsx";
import { toast } from "../../ui/notice.tsx";

const DAY_SECONDS = 86_400;

interface ReplayDialogProps {
  readonly path: string;
  readonly onDone: () => Promise<void>;
  readonly onClose: () => void;
}

export function ReplayDialog({ path, onDone, onClose }: ReplayDialogProps) {
  const since = useSignal(toLocalInput(nowSeconds.peek() - DAY_SECONDS));
  const seconds = fromLocalInput(since.value);
  const replay = async (): Promise<void> => {
    const { events } = await post<{ readonly events: number }>(`${path}/replay`, { since: seconds });
    toast(
      events === 0
        ? "Since then, no event has failed or is waiting."
        : `${whole(events)} ${events === 1 ? "event is" : "events are"} being resent.`,
    );
    await onDone();
    onClose();
  };
  return (
    <Dialog title="Replay events" onClose={onClose}>
      <Form submit="Replay" isDisabled={seconds === undefined} onSubmit={replay} onCancel={onClose}>
        <p>
          Every event since this time that has not succeeded is resent, with the same webhook-id and number. Events that
          have succeeded are not repeated.
        </p>
        <Text
          label="Since"
          type="datetime-local"
          step={1}
          value={since.value}
          onInput={(value) => (since.value = value)}
          help="In your time zone."
          isRequired
        />
      </Form>
    </Dialog>
  );
}
