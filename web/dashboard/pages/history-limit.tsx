/** How much history an application has stored, and how much it may. */
import { useSignal } from "@preact/signals";
import { patch } from "../api/client.ts";
import type { App, Usage } from "../api/types.ts";
import { bytes } from "../lib/format.ts";
import { useLive } from "../lib/live.ts";
import { counted } from "../lib/rule-draft.ts";
import { mayChange } from "../lib/session.ts";
import { Bar } from "../ui/bar.tsx";
import { confirm, Form } from "../ui/dialog.tsx";
import { Text } from "../ui/fields.tsx";
import { toast } from "../ui/notice.tsx";
import { Card } from "../ui/page.tsx";

const MB = 1024 * 1024;
const EVERY_MS = 5000;

export function HistoryLimit({ app, reload }: { readonly app: App; readonly reload: () => Promise<void> }) {
  const path = `/apps/${app._id}`;
  const { data } = useLive<Usage>(`${path}/usage?periods=1`, { everyMs: EVERY_MS });
  const typed = useSignal(String(app.maxHistoryBytes / MB));
  const stored = data?.history;
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
    <Card title="Stored history" class="narrow-card">
      <div class="stat meter">
        <div>
          <span class="value">{stored ? bytes(stored.bytes) : "…"}</span>
          <span class="unit">of {bytes(app.maxHistoryBytes)}</span>
        </div>
        <Bar share={stored ? stored.bytes / app.maxHistoryBytes : 0} />
        <p class="muted small">
          {stored ? `${counted(stored.messages, "messages")} of ${counted(stored.streams, "channels")}. ` : ""}
          At the limit, the oldest messages of the largest channel are deleted.
        </p>
      </div>
      {mayChange.value && (
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
      )}
    </Card>
  );
}
