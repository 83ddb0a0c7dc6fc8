/** The dialogs that create a webhook, with its secret afterwards, and change one. */
import { useSignal } from "@preact/signals";
import { webhookPage } from "../../address/links.ts";
import { BASE, navigate } from "../../address/router.ts";
import { patch, post } from "../../api/client.ts";
import type { CreatedWebhook, Webhook } from "../../api/webhook-types.ts";
import { bodyOf, changesOf, draftOf, EMPTY, isValid } from "../../drafts/webhook-draft.ts";
import { inText } from "../../text/in-text.ts";
import { nameOf } from "../../text/webhook-text.ts";
import { Dialog, Form } from "../../ui/dialog.tsx";
import { toast } from "../../ui/notice.tsx";
import { SecretOnce } from "../keys/secret.tsx";
import { WebhookFields } from "./fields.tsx";

interface CreateWebhookProps {
  /** The application's name. */
  readonly app: string;
  /** The call that lists and creates. */
  readonly path: string;
  readonly onCreated: () => Promise<void>;
  readonly onClose: () => void;
}

export function CreateWebhook({ app, path, onCreated, onClose }: CreateWebhookProps) {
  const draft = useSignal(EMPTY);
  const created = useSignal<CreatedWebhook | undefined>(undefined);
  const create = async (): Promise<void> => {
    created.value = await post<CreatedWebhook>(path, bodyOf(draft.value));
    await onCreated();
  };
  if (created.value) return <Created app={app} made={created.value} onClose={onClose} />;
  return (
    <Dialog title="Create a webhook" isWide onClose={onClose}>
      <Form submit="Create webhook" isDisabled={!isValid(draft.value)} onSubmit={create} onCancel={onClose}>
        <WebhookFields draft={draft.value} onChange={(next) => (draft.value = next)} />
      </Form>
    </Dialog>
  );
}

interface CreatedProps {
  readonly app: string;
  readonly made: CreatedWebhook;
  readonly onClose: () => void;
}

const Created = ({ app, made: { _id, secret }, onClose }: CreatedProps) => (
  <Dialog title="Webhook created" onClose={onClose}>
    <div class="stack">
      <SecretOnce what="signing secret" text={secret}>
        Copy the secret now: it is shown only once. Your backend uses it to verify that requests come from here. If you
        lose it, rotate it.
      </SecretOnce>
      <div class="form-actions">
        <button
          type="button"
          class="primary"
          onClick={() => navigate(webhookPage(app, _id).slice(BASE.length), { replace: true })}
        >
          I have copied it
        </button>
      </div>
    </div>
  </Dialog>
);

interface EditWebhookProps {
  readonly edited: Webhook;
  /** The call of this webhook. */
  readonly path: string;
  readonly onSaved: () => Promise<void>;
  readonly onClose: () => void;
}

export function EditWebhook({ edited, path, onSaved, onClose }: EditWebhookProps) {
  const before = useSignal(draftOf(edited)).value;
  const draft = useSignal(before);
  const changes = changesOf(before, draft.value);
  const save = async (): Promise<void> => {
    await patch(path, changes);
    await onSaved();
    toast("Webhook saved.");
    onClose();
  };
  return (
    <Dialog title={`Edit ${inText(nameOf(edited))}`} isWide onClose={onClose}>
      <Form
        submit="Save"
        isDisabled={!isValid(draft.value) || Object.keys(changes).length === 0}
        onSubmit={save}
        onCancel={onClose}
      >
        <WebhookFields draft={draft.value} onChange={(next) => (draft.value = next)} />
      </Form>
    </Dialog>
  );
}
