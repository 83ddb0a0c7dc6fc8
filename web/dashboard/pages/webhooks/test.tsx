/** A test: a request is sent now, and what came back is shown. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { post } from "../../api/client.ts";
import type { TestedWebhook } from "../../api/webhook-types.ts";
import { whole } from "../../text/format.ts";
import { outcomeOf } from "../../text/webhook-text.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { messageOf, Notice } from "../../ui/notice.tsx";
import { Badge } from "../../ui/values.tsx";

interface TestDialogProps {
  readonly path: string;
  readonly onClose: () => void;
}

export function TestDialog({ path, onClose }: TestDialogProps) {
  const result = useSignal<TestedWebhook | undefined>(undefined);
  const error = useSignal("");
  const run = async (): Promise<void> => {
    result.value = undefined;
    error.value = "";
    try {
      result.value = await post<TestedWebhook>(`${path}/test`);
    } catch (caught) {
      error.value = messageOf(caught);
    }
  };
  useEffect(() => void run(), []);
  const isRunning = result.value === undefined && error.value === "";
  return (
    <Dialog title="Send test" onClose={onClose}>
      <div class="stack">
        <div role="status">
          {isRunning && (
            <p class="muted">
              <code>webhook.test</code> is sent. An answer may take up to 15 seconds …
            </p>
          )}
          {result.value && <Result of={result.value} />}
          {error.value && <Notice kind="bad">{error.value}</Notice>}
        </div>
        <div class="form-actions">
          <button type="button" disabled={isRunning} onClick={run}>
            Send another
          </button>
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Result({ of: { status, succeeded, ms, error, response } }: { readonly of: TestedWebhook }) {
  return (
    <dl class="facts">
      <dt>Result</dt>
      <dd>{succeeded ? "It arrived." : "It failed."}</dd>
      <dt>Status</dt>
      <dd>
        <Badge kind={succeeded ? "good" : "bad"}>{outcomeOf({ status })}</Badge>
      </dd>
      <dt>Took</dt>
      <dd>{whole(ms)} ms</dd>
      {error !== null && (
        <>
          <dt>Why</dt>
          <dd>{error}</dd>
        </>
      )}
      {response !== null && (
        <>
          <dt>Response</dt>
          <dd>{response === "" ? <span class="muted">empty</span> : <code class="lines">{response}</code>}</dd>
        </>
      )}
    </dl>
  );
}
