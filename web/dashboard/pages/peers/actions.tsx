/** Send to a peer, end its connections, keep it out for a while. */
import { useSignal } from "@preact/signals";
import { keyPage } from "../../address/links.ts";
import { query, remove, segment } from "../../api/client.ts";
import { duration, whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { confirm, Dialog, Form, isTyped, nameToType, TypedName } from "../../ui/dialog.tsx";
import { Field, Segmented } from "../../ui/fields.tsx";
import { MessageForm } from "../../ui/message-form.tsx";
import { Notice, toast } from "../../ui/notice.tsx";

interface PeerActionsProps {
  readonly app: string;
  readonly peer: string;
  /** What people call it, else its id. */
  readonly who: string;
  /** How many it has now. */
  readonly connections: number;
  /** The publishable key it connected with: each connect with it gets a new random id. */
  readonly publishable: string | undefined;
  readonly onDone: () => void;
}

const BLOCK_MAX_SEC = 86_400;
const BLOCK_MIN_SEC = 60;
const PICKS_SEC = [15 * 60, 3600, BLOCK_MAX_SEC];
const UNITS = { minutes: 60, hours: 3600 } as const;
type Unit = keyof typeof UNITS;

const closes = (count: number): string =>
  count === 1 ? "Its connection closes with code 4020." : `Its ${whole(count)} connections close with code 4020.`;

/** The public SDK and parley-client do not reconnect by themselves after 4020. */
const COMES_BACK = "Its page or program can connect again at once, for example after a reload.";

export function PeerActions({ app, peer, who, connections, publishable, onDone }: PeerActionsProps) {
  const opened = useSignal<"send" | "block" | undefined>(undefined);
  const close = (): void => {
    opened.value = undefined;
  };
  const path = `/apps/${segment(app)}/peers/${segment(peer)}`;
  const end = async (blockSec?: number): Promise<void> => {
    const { closed } = await remove<{ readonly closed: number }>(`${path}${query({ blockSec })}`);
    const ended = closed === 1 ? "1 connection was closed." : `${whole(closed)} connections were closed.`;
    if (blockSec === undefined) toast(ended);
    else toast(`${who} is blocked for ${duration(blockSec)}. ${closed > 0 ? ended : ""}`);
    close();
    onDone();
  };
  const disconnect = (): void =>
    confirm({
      title: `Disconnect ${inText(who)}?`,
      text: `${closes(connections)} ${COMES_BACK} ${publishable === undefined ? "To keep it out, block it." : "It then gets a new id."}`,
      submit: "Disconnect",
      typed: nameToType(peer, connections),
      run: () => end(),
    });
  return (
    <>
      <button type="button" disabled={connections === 0} onClick={() => (opened.value = "send")}>
        Send a message
      </button>
      <button type="button" disabled={connections === 0} onClick={disconnect}>
        Disconnect
      </button>
      <button type="button" class="danger" onClick={() => (opened.value = "block")}>
        Block …
      </button>
      {opened.value === "send" && (
        <Dialog title={`Send a message to ${inText(who)}`} onClose={close}>
          <MessageForm path={`${path}/send`} submit="Send" done={`Sent to ${who}.`} onDone={close} onCancel={close} />
        </Dialog>
      )}
      {opened.value === "block" && (
        <Block
          app={app}
          peer={peer}
          who={who}
          connections={connections}
          publishable={publishable}
          onBlock={end}
          onClose={close}
        />
      )}
    </>
  );
}

interface BlockProps extends Pick<PeerActionsProps, "app" | "peer" | "who" | "connections" | "publishable"> {
  readonly onBlock: (seconds: number) => Promise<void>;
  readonly onClose: () => void;
}

function Block({ app, peer, who, connections, publishable, onBlock, onClose }: BlockProps) {
  const amount = useSignal("15");
  const unit = useSignal<Unit>("minutes");
  const typed = useSignal("");
  const pick = (length: number): void => {
    unit.value = length < UNITS.hours ? "minutes" : "hours";
    amount.value = String(length / UNITS[unit.value]);
  };
  const toType = nameToType(peer, connections);
  const seconds = Number(amount.value) * UNITS[unit.value];
  const isValid = Number.isInteger(seconds) && seconds >= BLOCK_MIN_SEC && seconds <= BLOCK_MAX_SEC;
  return (
    <Dialog title={`Block ${inText(who)}?`} onClose={onClose}>
      <Form
        submit="Block"
        isDanger
        isDisabled={!isValid || !isTyped(toType, typed.value)}
        onSubmit={() => onBlock(seconds)}
        onCancel={onClose}
      >
        {who !== peer && <p class="mono muted small">{peer}</p>}
        <p>
          {connections > 0 && `${closes(connections)} `}
          {isValid &&
            (publishable === undefined
              ? `This peer cannot connect for ${duration(seconds)}, on any node.`
              : `No one can connect with this id for ${duration(seconds)}, but this person does not need it again.`)}
        </p>
        <Field
          label="For"
          help={
            publishable === undefined && "To keep it out for more than 24 hours, your backend must refuse it tokens."
          }
          error={isValid ? undefined : "From 1 minute to 24 hours."}
        >
          {(attributes) => (
            <div class="row">
              <input
                {...attributes}
                type="number"
                class="short"
                min="1"
                value={amount.value}
                onFocus={(event) => event.currentTarget.select()}
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
              {PICKS_SEC.map((length) => (
                <button key={length} type="button" class="small" onClick={() => pick(length)}>
                  {duration(length)}
                </button>
              ))}
            </div>
          )}
        </Field>
        {publishable !== undefined && (
          <Notice kind="warn">
            <strong>A block does not keep this person out.</strong> It connected with a publishable key, and gets a new
            random id with each connect. Blocks work for peers with tokens. Limit or revoke{" "}
            <a href={keyPage(app, publishable)}>its key</a> instead, or block its address in your proxy.
          </Notice>
        )}
        <TypedName name={toType} value={typed.value} onInput={(value) => (typed.value = value)} />
      </Form>
    </Dialog>
  );
}
