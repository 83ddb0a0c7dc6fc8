/** One webhook: how it is doing, what it gets, its secret, and what it was sent. */
import { useSignal } from "@preact/signals";
import { webhooksPage } from "../../address/links.ts";
import { navigate, type PageParameters } from "../../address/router.ts";
import { patch, remove, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { Webhook as WebhookRow } from "../../api/webhook-types.ts";
import { CHANGES_EVERY_MS, useLive } from "../../live/live.ts";
import { whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { nameOf, shown } from "../../text/webhook-text.ts";
import { confirm } from "../../ui/dialog.tsx";
import { messageOf, toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Copy, Lines, Time } from "../../ui/values.tsx";
import { Missing } from "../not-found.tsx";
import { EditWebhook } from "./forms.tsx";
import { Health } from "./health.tsx";
import { Log } from "./log.tsx";
import { SigningSecret } from "./signing-secret.tsx";
import { TestDialog } from "./test.tsx";

export function Webhook({ at: { app = "", webhook = "" } }: { readonly at: PageParameters }) {
  const path = `/apps/${segment(app)}/webhooks/${segment(webhook)}`;
  const { data, error, reload } = useLive<WebhookRow>(path, { everyMs: CHANGES_EVERY_MS });
  const opened = useSignal<"" | "test" | "edit">("");
  const close = (): void => {
    opened.value = "";
  };
  return (
    <Page
      title={data ? nameOf(data) : "Webhook"}
      intro={<a href={webhooksPage(app)}>All webhooks of {app}</a>}
      isReady={data !== undefined}
      error={error}
      missing={
        <Missing title={`No webhook has the id “${webhook}”.`} to={webhooksPage(app)} all="All webhooks">
          It was deleted, or the address is incomplete. URLs of rooms are listed once they are called.
        </Missing>
      }
      actions={
        data &&
        mayChange.value && (
          <>
            <button type="button" class="primary" onClick={() => (opened.value = "test")}>
              Send test
            </button>
            {data.kind !== "room" && (
              <button type="button" onClick={() => (opened.value = "edit")}>
                Edit
              </button>
            )}
            <Switch of={data} path={path} reload={reload} />
            {data.kind !== "room" && (
              <button type="button" class="danger" onClick={() => askToDelete(data, path, app)}>
                Delete …
              </button>
            )}
          </>
        )
      }
    >
      {data && (
        <>
          <Health of={data} />
          <div class="halves">
            <Facts of={data} />
            <SigningSecret of={data} app={app} path={path} reload={reload} />
          </div>
          <Log of={data} path={path} reload={reload} />
        </>
      )}
      {data && opened.value === "test" && <TestDialog path={path} onClose={close} />}
      {data && opened.value === "edit" && <EditWebhook edited={data} path={path} onSaved={reload} onClose={close} />}
    </Page>
  );
}

interface SwitchProps {
  readonly of: WebhookRow;
  readonly path: string;
  readonly reload: () => Promise<void>;
}

/** Switching off loses events, so it asks; switching on is done at once. */
function Switch({ of: row, path, reload }: SwitchProps) {
  const isBusy = useSignal(false);
  const set = async (disabled: boolean): Promise<void> => {
    await patch(path, { disabled });
    await reload();
    toast(disabled ? "The webhook is disabled." : "The webhook is enabled.");
  };
  const enable = async (): Promise<void> => {
    isBusy.value = true;
    await set(false).catch((error) => toast(messageOf(error), "bad"));
    isBusy.value = false;
  };
  const ask = (): void =>
    confirm({
      title: `Disable ${inText(nameOf(row))}`,
      text: <p>Nothing is sent until you enable it, and events in the meantime are not stored for it.</p>,
      submit: "Disable the webhook",
      isDanger: true,
      run: () => set(true),
    });
  return row.disabled ? (
    <button type="button" disabled={isBusy.value} onClick={enable}>
      Enable
    </button>
  ) : (
    <button type="button" onClick={ask}>
      Disable …
    </button>
  );
}

function askToDelete(row: WebhookRow, path: string, app: string): void {
  const { waiting } = row.health;
  confirm({
    title: `Delete ${inText(nameOf(row))}`,
    text: (
      <p>
        Its secret, its log and {waiting === 0 ? "its waiting events" : `its ${whole(waiting)} waiting events`} are
        deleted. This cannot be undone.
      </p>
    ),
    submit: "Delete the webhook",
    isDanger: true,
    run: async () => {
      await remove(path);
      toast(`${inText(nameOf(row))} is deleted.`);
      navigate(`/apps/${segment(app)}/webhooks`);
    },
  });
}

const MADE_BY: Readonly<Record<WebhookRow["kind"], string>> = {
  control: "an operator",
  application: "the application's backend",
  room: "rooms, in their URL fields",
};

function Facts({ of: row }: { readonly of: WebhookRow }) {
  const { _id, url, kind, events, channelPatterns, headers, created } = row;
  return (
    <Card title="Events">
      <dl class="facts">
        <dt>URL</dt>
        <dd>
          <code>{url}</code>
          {!mayChange.value && <div class="muted small">Only operators with the role admin can see the whole URL.</div>}
        </dd>
        <dt>Events</dt>
        <dd>
          {kind === "room" ? (
            "those of the fields of rooms that name this URL"
          ) : (
            <Lines of={shown(events)} none="none" />
          )}
        </dd>
        {channelPatterns && (
          <>
            <dt>Channels</dt>
            <dd>
              <Lines of={channelPatterns} none="none" />
            </dd>
          </>
        )}
        {kind !== "room" && (
          <>
            <dt>Extra headers</dt>
            <dd>
              <Lines of={Object.keys(headers)} none="none" />
            </dd>
          </>
        )}
        <dt>Created by</dt>
        <dd>
          {MADE_BY[kind]}, <Time at={created} />
        </dd>
        <dt>ID</dt>
        <dd class="row">
          <code>{_id}</code> <Copy text={_id} what="id of the webhook" />
        </dd>
      </dl>
    </Card>
  );
}
