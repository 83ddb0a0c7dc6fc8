/** Send to a peer, end its connections, keep it out for a while. */
import { useSignal } from "@preact/signals";
import { query, remove, segment } from "../../api/client.ts";
import { duration, whole } from "../../text/format.ts";
import { confirm, Dialog, Form, isTyped, nameToType, TypedName } from "../../ui/dialog.tsx";
import { Field, Segmented } from "../../ui/fields.tsx";
import { MessageForm } from "../../ui/message-form.tsx";
import { toast } from "../../ui/notice.tsx";

interface PeerActionsProps {
  readonly app: string;
  readonly peer: string;
  /** How many it has now. */
  readonly connections: number;
  readonly onDone: () => void;
}

const BLOCK_MAX_SEC = 86_400;
const UNITS = { minutes: 60, hours: 3600 } as const;
type Unit = keyof typeof UNITS;

const closes = (count: number): string =>
  count === 1 ? "Its connection closes with code 4020." : `Its ${whole(count)} connections close with code 4020.`;

export function PeerActions({ app, peer, connections, onDone }: PeerActionsProps) {
  const opened = useSignal<"send" | "block" | undefined>(undefined);
  const close = (): void => {
    opened.value = undefined;
  };
  const path = `/apps/${segment(app)}/peers/${segment(peer)}`;
  const end = async (blockSec?: number): Promise<void> => {
    const { closed } = await remove<{ readonly closed: number }>(`${path}${query({ blockSec })}`);
    const ended = closed === 1 ? "1 connection was closed." : `${whole(closed)} connections were closed.`;
    if (blockSec === undefined) toast(ended);
    else toast(`${peer} is blocked for ${duration(blockSec)}. ${closed > 0 ? ended : ""}`);
    close();
    onDone();
  };
  const disconnect = (): void =>
    confirm({
      title: `Disconnect ${peer}?`,
      text: `${closes(connections)} It may reconnect at once; to keep it out, block it.`,
      submit: "Disconnect",
      isDanger: true,
      typed: nameToType(peer, connections),
      run: () => end(),
    });
  return (
    <>
      <button type="button" disabled={connections === 0} onClick={() => (opened.value = "send")}>
        Send a message
      </button>
      <button type="button" class="danger" disabled={connections === 0} onClick={disconnect}>
        Disconnect
      </button>
      <button type="button" class="danger" onClick={() => (opened.value = "block")}>
        Block …
      </button>
      {opened.value === "send" && (
        <Dialog title={`Send a message to ${peer}`} onClose={close}>
          <MessageForm path={`${path}/send`} submit="Send" done={`Sent to ${peer}.`} onDone={close} onCancel={close} />
        </Dialog>
      )}
      {opened.value === "block" && <Block peer={peer} connections={connections} onBlock={end} onClose={close} />}
    </>
  );
}

interface BlockProps extends Pick<PeerActionsProps, "peer" | "connections"> {
  readonly onBlock: (seconds: number) => Promise<void>;
  readonly onClose: () => void;
}

function Block({ peer, connections, onBlock, onClose }: BlockProps) {
  const amount = useSignal("15");
  const unit = useSignal<Unit>("minutes");
  const typed = useSignal("");
  const toType = nameToType(peer, connections);
  const seconds = Number(amount.value) * UNITS[unit.value];
  const isValid = Number.isInteger(seconds) && seconds > 0 && seconds <= BLOCK_MAX_SEC;
  return (
    <Dialog title={`Block ${peer}?`} onClose={onClose}>
      <Form
        submit="Block"
        isDanger
        isDisabled={!isValid || !isTyped(toType, typed.value)}
        onSubmit={() => onBlock(seconds)}
        onCancel={onClose}
      >
        <p>
          {connections > 0 && `${closes(connections)} `}
          {isValid && `Its connects are refused for ${duration(seconds)}, on every node.`}
        </p>
        <Field label="For" error={isValid ? undefined : "At least a second, and at most 24 hours."}>
          {(attributes) => (
            <div class="row">
              <input
                {...attributes}
                type="number"
                class="short"
                min="1"
                value={amount.value}
                onInput={(event) => (amount.value = event.currentTarget.value)}
              />
              <Segmented
                label="Unit"
                value={unit.value}
                options={[
                  ["minutes", "minutes"],
                  ["hours", "hours"],
                ]}
                onChange={(chosen) => (unit.value = chosen)}
              />
            </div>
          )}
        </Field>
        <TypedName name={toType} value={typed.value} onInput={(value) => (typed.value = value)} />
      </Form>
    </Dialog>
  );
}
