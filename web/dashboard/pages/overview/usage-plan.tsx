/** Changes an application's plan and caps. */
import { useSignal } from "@preact/signals";
import { patch } from "../../api/client.ts";
import type { App } from "../../api/types.ts";
import { loadApps } from "../../live/apps.ts";
import { Dialog, Form } from "../../ui/dialog.tsx";
import { Text } from "../../ui/fields.tsx";
import { toast } from "../../ui/notice.tsx";

const textOf = (cap: number | null): string => (cap === null ? "" : String(cap));
const capOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));
const problemOf = (text: string): string | undefined =>
  /^\s*\d*\s*$/.test(text) ? undefined : "Enter a whole number, or leave this empty for no cap.";

export function EditPlan({ app, onClose }: { readonly app: App; readonly onClose: () => void }) {
  const name = useSignal(app.plan.name);
  const connections = useSignal(textOf(app.plan.maxConcurrentConnections));
  const messages = useSignal(textOf(app.plan.maxMessagesPerPeriod));
  const save = async (): Promise<void> => {
    const plan = {
      name: name.value.trim(),
      maxConcurrentConnections: capOf(connections.value),
      maxMessagesPerPeriod: capOf(messages.value),
    };
    await patch<App>(`/apps/${app._id}`, { plan });
    await loadApps();
    toast("Plan saved.");
    onClose();
  };
  return (
    <Dialog title={`Plan and caps of ${app.name}`} onClose={onClose}>
      <Form
        submit="Save"
        onSubmit={save}
        onCancel={onClose}
        isDisabled={
          name.value.trim() === "" ||
          problemOf(connections.value) !== undefined ||
          problemOf(messages.value) !== undefined
        }
      >
        <Text
          label="Name of the plan"
          value={name.value}
          onInput={(value) => (name.value = value)}
          help="Only a name: it changes no limits."
          isRequired
        />
        <Text
          label="Maximum concurrent connections"
          value={connections.value}
          onInput={(value) => (connections.value = value)}
          error={problemOf(connections.value)}
          placeholder="no cap"
          help="Across all nodes. A lower cap does not close connections: new ones are refused until enough have ended."
        />
        <Text
          label="Maximum messages per calendar month"
          value={messages.value}
          onInput={(value) => (messages.value = value)}
          error={problemOf(messages.value)}
          placeholder="no cap"
          help="Published and sent messages together. At the cap, further messages are refused until the next month."
        />
      </Form>
    </Dialog>
  );
}
