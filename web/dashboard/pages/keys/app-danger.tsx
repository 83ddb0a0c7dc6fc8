/** What concerns the whole application: payloads in the dashboard, and its deletion. */
import { useSignal } from "@preact/signals";
import { navigate } from "../../address/router.ts";
import { get, patch, remove, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App } from "../../api/types.ts";
import { loadApps } from "../../live/apps.ts";
import { whole } from "../../text/format.ts";
import { confirm } from "../../ui/dialog.tsx";
import { Check } from "../../ui/fields.tsx";
import { messageOf, toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";

export function Payloads({ app }: { readonly app: App }) {
  const isBusy = useSignal(false);
  const change = async (consolePayloads: boolean): Promise<void> => {
    isBusy.value = true;
    try {
      await patch(`/apps/${segment(app._id)}`, { consolePayloads });
      await loadApps();
      toast(consolePayloads ? "Payloads are shown." : "Payloads are hidden.");
    } catch (error) {
      toast(messageOf(error), "bad");
    }
    isBusy.value = false;
  };
  return (
    <Card title="Payloads">
      <Check
        label="Show the content of messages in the dashboard"
        help="Operators with the role admin can then see what peers send each other, in the console and in channels. Leave it off if messages are private; sizes and times are always shown."
        checked={app.consolePayloads}
        isDisabled={!mayChange.value || isBusy.value}
        onChange={change}
      />
    </Card>
  );
}

export function DeleteApp({ app }: { readonly app: App }) {
  const ask = async (): Promise<void> => {
    const usage = await get<{ readonly concurrentNow: number }>(`/apps/${segment(app._id)}/usage?periods=1`).catch(
      () => undefined,
    );
    const count = usage?.concurrentNow;
    confirm({
      title: `Delete the application ${app.name}`,
      text: (
        <p>
          Its keys are revoked and {count === undefined ? "its" : whole(count)} live connections close. Its rooms are
          archived, and its recordings are deleted with their files. This cannot be undone.
        </p>
      ),
      submit: "Delete the application",
      isDanger: true,
      typed: app.name,
      run: async () => {
        await remove(`/apps/${segment(app._id)}`);
        navigate("/");
        await loadApps();
        toast(`${app.name} is deleted.`);
      },
    });
  };
  return (
    <Card title="Delete the application">
      <div class="row spread">
        <p class="muted">Ends its keys, connections, rooms and recordings for good.</p>
        <button type="button" class="danger" onClick={ask}>
          Delete {app.name} …
        </button>
      </div>
    </Card>
  );
}
