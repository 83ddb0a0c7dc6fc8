/** One attempt in full: what was sent and what came back, as far as the operator may see it. */
import { useSignal } from "@preact/signals";
import { mayChange } from "../../api/session.ts";
import type { WebhookDelivery } from "../../api/webhook-types.ts";
import { currentApp } from "../../live/apps.ts";
import { exactTime, whole } from "../../text/format.ts";
import { outcomeOf } from "../../text/webhook-text.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Badge, Copy, Snippet, Time } from "../../ui/values.tsx";

interface DeliveryDetailsProps {
  readonly of: WebhookDelivery;
  /** Absent: the operator may not. */
  readonly onResend: (() => Promise<void>) | undefined;
  readonly onClose: () => void;
}

export function DeliveryDetails({ of: one, onResend, onClose }: DeliveryDetailsProps) {
  const isBusy = useSignal(false);
  const resend = async (): Promise<void> => {
    isBusy.value = true;
    await onResend?.();
    onClose();
  };
  return (
    <Dialog title={`${one.type}, attempt ${one.attempt}`} onClose={onClose}>
      <div class="stack">
        <dl class="facts">
          <dt>Status</dt>
          <dd>
            <Badge kind={one.succeeded ? "good" : "bad"}>{outcomeOf(one)}</Badge>
          </dd>
          {one.error && (
            <>
              <dt>Error</dt>
              <dd>{one.error}</dd>
            </>
          )}
          <dt>When</dt>
          <dd>
            {exactTime(one.at)} (<Time at={one.at} />)
          </dd>
          <dt>Took</dt>
          <dd>{whole(one.tookMs)} ms</dd>
          <dt>webhook-id</dt>
          <dd class="row">
            <code>{one.webhookId}</code> <Copy text={one.webhookId} what="webhook-id" />
          </dd>
          <dt>data.seq</dt>
          <dd>{whole(one.seq)}</dd>
        </dl>
        {one.response && (
          <div>
            <h3>Response</h3>
            <Snippet text={one.response} what="response" />
          </div>
        )}
        {one.data !== undefined && (
          <div>
            <h3>Sent as data</h3>
            <Snippet text={JSON.stringify(one.data, null, 2)} what="data" />
          </div>
        )}
        <p class="muted small">{hiddenIn(one)}</p>
        <div class="form-actions">
          {onResend && (
            <button type="button" disabled={isBusy.value} onClick={resend}>
              Resend
            </button>
          )}
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** Why something is not shown. */
function hiddenIn({ data }: WebhookDelivery): string {
  if (!mayChange.value) return "Only operators with the role admin can see what was sent, and the response.";
  if (data !== undefined) return "";
  return currentApp.value?.consolePayloads
    ? "What was sent is no longer stored."
    : "To see what was sent, allow payloads in the dashboard on the application's Keys page.";
}
