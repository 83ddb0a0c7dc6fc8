/** One key: what it covers, its secrets, and its end. */
import { useSignal } from "@preact/signals";
import { keysPage } from "../../address/links.ts";
import { BASE, type PageParameters, parameters } from "../../address/router.ts";
import { patch, remove, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { Key as KeyRow } from "../../api/types.ts";
import { linesOf, narrowed } from "../../drafts/scope.ts";
import { nameOfApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, useLive } from "../../live/live.ts";
import { whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { confirm, Dialog, Form, isTyped, nameToType, TypedName } from "../../ui/dialog.tsx";
import { Notice, toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { RangeChoice } from "../../ui/range.tsx";
import { Copy, Lines, Time } from "../../ui/values.tsx";
import { Missing } from "../not-found.tsx";
import { bodyOf, isValid, type KeyDraft, KeyFields } from "./fields.tsx";
import { KeySnippets } from "./key-snippets.tsx";
import { KeyCharts } from "./key-traffic.tsx";
import { KeyState } from "./keys.tsx";
import { Countdown, RotateDialog, SecretOnce } from "./secret.tsx";

export function Key({ at }: { readonly at: PageParameters }) {
  const path = `/signalling/keys/${segment(at.key ?? "")}`;
  const { data, error, reload } = useLive<KeyRow>(path, { everyMs: CHANGES_EVERY_MS });
  const isEditing = useSignal(parameters.value.has("edit"));
  const isLive = data?.revoked === null;
  // The address may name another application than the key's.
  const owner = data ? nameOfApp(data.app) : (at.app ?? "");
  return (
    <Page
      title={data?.label ?? "Key"}
      intro={<a href={`${BASE}/apps/${segment(owner)}/keys`}>All keys of {owner}</a>}
      isReady={data !== undefined}
      error={error}
      missing={
        <Missing title={`No key has the id “${at.key}”.`} to={keysPage(at.app ?? "")} all="All keys">
          The address is incomplete, or the key belongs to an application that was deleted. Revoked keys are still
          listed.
        </Missing>
      }
      actions={
        <>
          <RangeChoice />
          {isLive && mayChange.value && (
            <>
              <button type="button" onClick={() => (isEditing.value = true)}>
                Edit
              </button>
              <button type="button" class="danger" onClick={() => revoke(data, path, reload)}>
                Revoke …
              </button>
            </>
          )}
        </>
      }
    >
      {data && <Facts of={data} />}
      {data && <KeyCharts of={data} />}
      {data?.type === "secret" && isLive && <Secrets of={data} path={path} reload={reload} />}
      {data && isLive && <KeySnippets title="Use it" shown={data} />}
      {data && isLive && mayChange.value && isEditing.value && (
        <EditKey edited={data} path={path} onSaved={reload} onClose={() => (isEditing.value = false)} />
      )}
    </Page>
  );
}

const nameOf = ({ label, keyId }: KeyRow): string => label || keyId;

/** What a revocation closes. */
function closing({ connections }: KeyRow): string {
  if (connections === undefined) return "Its live connections close at once, on every node.";
  if (connections === 0) return "No live connection uses it now.";
  return `${connections === 1 ? "1 live connection closes" : `${whole(connections)} live connections close`} at once, on every node.`;
}

function revoke(key: KeyRow, path: string, reload: () => Promise<void>): void {
  confirm({
    title: `Revoke ${inText(nameOf(key))}`,
    text: (
      <p>
        {closing(key)} Every further connect{key.type === "secret" ? ", token and REST call" : ""} with this key is
        refused. It cannot be undone: create another key instead.
      </p>
    ),
    submit: "Revoke the key",
    isDanger: true,
    typed: nameToType(nameOf(key), key.connections),
    run: async () => {
      await remove(path);
      await reload();
      toast("Key revoked.");
    },
  });
}

function Facts({ of: row }: { readonly of: KeyRow }) {
  return (
    <Card>
      <dl class="facts">
        <dt>Key id</dt>
        <dd class="row">
          <code>{row.keyId}</code> <Copy text={row.keyId} what="key id" />
        </dd>
        <dt>Type</dt>
        <dd>
          {row.type === "secret"
            ? "secret: for your backend"
            : "publishable: for browsers and apps, its id is not secret"}
        </dd>
        <dt>State</dt>
        <dd>
          <KeyState of={row} />
        </dd>
        <dt>Live connections</dt>
        <dd>{row.connections === undefined ? <span class="muted">not known</span> : whole(row.connections)}</dd>
        <dt>Channel patterns</dt>
        <dd>
          <Lines of={row.channelPatterns} none="none: it covers no channel" />
        </dd>
        <dt>Actions</dt>
        <dd>
          <Lines of={row.actions} none="none: it may connect, and do nothing" />
        </dd>
        {row.type === "publishable" && (
          <>
            <dt>Allowed origins</dt>
            <dd>
              <Lines of={row.allowedOrigins ?? []} none="none: no browser may connect" />
            </dd>
          </>
        )}
        <dt>TURN credentials</dt>
        <dd>{row.turn ? "in every welcome" : <span class="muted">none</span>}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={row.created} />
        </dd>
        {row.type === "secret" && (
          <>
            <dt>Rotated</dt>
            <dd>
              <Time at={row.rotated} />
            </dd>
          </>
        )}
      </dl>
    </Card>
  );
}

interface SecretsProps {
  readonly of: KeyRow;
  readonly path: string;
  readonly reload: () => Promise<void>;
}

function Secrets({ of: row, path, reload }: SecretsProps) {
  const { keyId, previousSecrets = [] } = row;
  const isRotating = useSignal(false);
  const secret = useSignal<string | undefined>(undefined);
  return (
    <Card
      title="Signing secret"
      aside={
        mayChange.value && (
          <button type="button" onClick={() => (isRotating.value = true)}>
            Rotate …
          </button>
        )
      }
    >
      <div class="stack">
        <p class="muted">It was shown once, when it was created. If it was lost or has leaked, rotate it.</p>
        {secret.value !== undefined && (
          <SecretOnce what="key with its new secret" text={`${keyId}:${secret.value}`}>
            Copy the new secret before you leave this page: it is shown only once.
          </SecretOnce>
        )}
        {previousSecrets.length > 0 && (
          <ul class="bare" aria-label="Previous secrets">
            {previousSecrets.map(({ endsAt }) => (
              <li key={endsAt}>
                A previous secret <Countdown endsAt={endsAt} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {isRotating.value && (
        <RotateDialog<{ readonly secret: string }>
          title="Rotate the signing secret"
          path={path}
          closes={{ name: nameOf(row), connections: row.connections }}
          onDone={(answer) => {
            secret.value = answer.secret;
            isRotating.value = false;
            void reload();
          }}
          onClose={() => (isRotating.value = false)}
        >
          A new secret replaces the current one. For the time below, tokens signed with the current one are still
          accepted, so that your backend can switch.
        </RotateDialog>
      )}
    </Card>
  );
}

const draftOf = (row: KeyRow): KeyDraft => ({
  type: row.type,
  label: row.label ?? "",
  patterns: row.channelPatterns.join("\n"),
  actions: row.actions,
  origins: row.allowedOrigins?.join("\n") ?? "",
  turn: row.turn,
});

interface EditKeyProps {
  readonly edited: KeyRow;
  readonly path: string;
  readonly onSaved: () => Promise<void>;
  readonly onClose: () => void;
}

function EditKey({ edited, path, onSaved, onClose }: EditKeyProps) {
  const before = useSignal(draftOf(edited)).value;
  const draft = useSignal(before);
  const changes = changesOf(before, draft.value);
  const lost = lossOf(before, draft.value);
  const isNarrower = lost.rights.length + lost.origins.length > 0;
  // Other losses leave connections that are open as they are.
  const toType = lost.rights.length > 0 ? nameToType(nameOf(edited), edited.connections) : undefined;
  const typed = useSignal("");
  const save = async (): Promise<void> => {
    await patch(path, changes);
    await onSaved();
    toast("Key saved.");
    onClose();
  };
  return (
    <Dialog title={`Edit ${inText(edited.label ?? "the key")}`} onClose={onClose}>
      <Form
        submit={isNarrower ? "Save and narrow the key" : "Save"}
        isDanger={isNarrower}
        isDisabled={!isValid(draft.value) || Object.keys(changes).length === 0 || !isTyped(toType, typed.value)}
        onSubmit={save}
        onCancel={onClose}
      >
        <KeyFields draft={draft.value} onChange={(next) => (draft.value = next)} />
        <div role="status">{isNarrower && <Narrowing {...lost} connections={edited.connections} />}</div>
        <TypedName name={toType} value={typed.value} onInput={(value) => (typed.value = value)} />
      </Form>
    </Dialog>
  );
}

/** Only what differs: a field that is the same may hold something that this form cannot show. */
function changesOf(before: KeyDraft, after: KeyDraft): object {
  const next = bodyOf(after);
  return {
    ...(before.label !== after.label && { label: next.label }),
    ...(before.patterns !== after.patterns && { channelPatterns: next.channelPatterns }),
    ...(before.actions.join() !== after.actions.join() && { actions: next.actions }),
    ...(before.origins !== after.origins && { allowedOrigins: next.allowedOrigins }),
    ...(before.turn !== after.turn && { turn: next.turn }),
  };
}

interface Loss {
  /** Patterns and actions. */
  readonly rights: readonly string[];
  readonly origins: readonly string[];
}

/** What the edit takes away. */
const lossOf = (before: KeyDraft, after: KeyDraft): Loss => ({
  rights: [
    ...narrowed(linesOf(before.patterns), linesOf(after.patterns)),
    ...before.actions.filter((action) => !after.actions.includes(action)),
  ],
  origins: linesOf(before.origins).filter((one) => !linesOf(after.origins).includes(one)),
});

/** What the loss means for connections that are open now. */
const Narrowing = ({ rights, origins, connections }: Loss & { readonly connections: number | undefined }) => (
  <Notice kind="warn">
    {rights.length > 0 && (
      <p>
        This takes away {rights.join(", ")}. It takes effect at once on{" "}
        {connections === undefined ? "every live connection" : `${whole(connections)} live connections`}: subscriptions
        that are no longer covered end, and tokens that ask for more are refused.
      </p>
    )}
    {origins.length > 0 && <p>Pages of {origins.join(", ")} can no longer connect. Their open connections stay.</p>}
  </Notice>
);
