/** How much history an application has stored, and how much it may. */
import { useSignal } from "@preact/signals";
import { patch } from "../api/client.ts";
import type { App, StoredHistory } from "../api/types.ts";
import { bytes } from "../lib/format.ts";
import { counted } from "../lib/rule-draft.ts";
import { mayChange } from "../lib/session.ts";
import { Bar } from "../ui/bar.tsx";
import { confirm, Form } from "../ui/dialog.tsx";
import { Text } from "../ui/fields.tsx";
import { toast } from "../ui/notice.tsx";
import { Card } from "../ui/page.tsx";

const MB = 1024 * 1024;

interface HistoryLimitProps {
  readonly app: App;
  /** undefined: it cannot be read at the moment. */
  readonly stored: StoredHistory | undefined;
  readonly reload: () => Promise<void>;
}

export function HistoryLimit({ app, stored, reload }: HistoryLimitProps) {
  const path = `/apps/${app._id}`;
  const typed = useSignal(String(app.maxHistoryBytes / MB));
  const most = Math.round(Number(typed.value) * MB);
  const save = async (): Promise<void> => {
    await patch(path, { maxHistoryBytes: most });
    await reload();
    toast(`History may take ${bytes(most)}.`);
  };
  const ask = async (): Promise<void> => {
    if (!stored || most >= stored.bytes) return save();
    confirm({
      title: `Keep at most ${bytes(most)} of history`,
      text: <p>{bytes(stored.bytes - most)} of the oldest messages are deleted. They cannot be brought back.</p>,
      submit: "Change the limit",
      isDanger: true,
      run: save,
    });
  };
  return (
    <Card title="Stored history">
      <div class="stat meter">
        <div>
          <span class="value">{stored ? bytes(stored.bytes) : "?"}</span>
          <span class="unit">of {bytes(app.maxHistoryBytes)}</span>
        </div>
        <Bar share={(stored?.bytes ?? 0) / app.maxHistoryBytes} />
        <p class="muted small">
          {stored
            ? `${counted(stored.messages, "messages")} of ${counted(stored.streams, "channels")}.`
            : "What is stored cannot be read at the moment."}{" "}
          At the limit, the oldest messages of the largest channel are deleted.
        </p>
      </div>
      {mayChange.value && (
        <div class="spaced">
          <Form submit="Save" isDisabled={!(most > 0) || most === app.maxHistoryBytes} onSubmit={ask}>
            <Text
              label="Most megabytes of history"
              type="number"
              min={1}
              step={1}
              value={typed.value}
              onInput={(value) => (typed.value = value)}
            />
          </Form>
        </div>
      )}
    </Card>
  );
}
