/** The dialog that creates a key, and shows a secret key's secret afterwards. */
import { useSignal } from "@preact/signals";
import { post } from "../../api/client.ts";
import type { Key } from "../../api/types.ts";
import { Dialog, Form } from "../../ui/dialog.tsx";
import { Segmented } from "../../ui/fields.tsx";
import { Copy } from "../../ui/values.tsx";
import { bodyOf, isValid, type KeyDraft, KeyFields } from "./fields.tsx";
import { SecretOnce } from "./secret.tsx";

const EMPTY: KeyDraft = {
  type: "publishable",
  label: "",
  patterns: "",
  actions: ["subscribe"],
  origins: "",
  turn: false,
};

const TYPES = [
  ["publishable", "Publishable"],
  ["secret", "Secret"],
] as const;

const MEANING = {
  publishable: "For browsers and apps. Its id is public; you decide here what it may do.",
  secret: "For your backend: it mints connect tokens, publishes, and closes connections. It has a secret.",
};

interface CreateKeyProps {
  readonly app: string;
  readonly onCreated: () => void;
  readonly onClose: () => void;
}

export function CreateKey({ app, onCreated, onClose }: CreateKeyProps) {
  const draft = useSignal(EMPTY);
  const created = useSignal<Key | undefined>(undefined);
  const create = async (): Promise<void> => {
    created.value = await post<Key>("/signalling/keys", { app, type: draft.value.type, ...bodyOf(draft.value) });
    onCreated();
  };
  if (created.value) return <Created made={created.value} onClose={onClose} />;
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <Form submit="Create key" isDisabled={!isValid(draft.value)} onSubmit={create} onCancel={onClose}>
        <div class="field">
          <Segmented
            label="Type"
            value={draft.value.type}
            options={TYPES}
            onChange={(type) => (draft.value = { ...draft.value, type })}
          />
          <p class="muted small">{MEANING[draft.value.type]}</p>
        </div>
        <KeyFields draft={draft.value} onChange={(next) => (draft.value = next)} />
      </Form>
    </Dialog>
  );
}

function Created({ made: { keyId, secret }, onClose }: { readonly made: Key; readonly onClose: () => void }) {
  return (
    <Dialog title="Key created" onClose={onClose}>
      <div class="stack">
        {secret === undefined ? (
          <p class="row">
            <code>{keyId}</code> <Copy text={keyId} what="key id" />
          </p>
        ) : (
          <SecretOnce what="key with its secret" text={`${keyId}:${secret}`}>
            Copy the whole line now: it is shown only once. Store it where your backend reads its secrets. The snippets
            read it from <code>PARLEY_KEY</code>.
          </SecretOnce>
        )}
        <div class="form-actions">
          <button type="button" class="primary" onClick={onClose}>
            {secret === undefined ? "Done" : "I have copied it"}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
