/** Operators: people and programs with a token of their own for the dashboard and the control plane. */
import { useSignal } from "@preact/signals";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { post, remove, segment } from "../../api/client.ts";
import { mayChange, session } from "../../api/session.ts";
import type { OperatorRow, Role } from "../../api/types.ts";
import { CHANGES_EVERY_MS, useList } from "../../live/live.ts";
import { inText } from "../../text/in-text.ts";
import { confirm, Dialog, Form } from "../../ui/dialog.tsx";
import { DownloadCsv } from "../../ui/download.tsx";
import { Select, Text } from "../../ui/fields.tsx";
import { Empty, Notice, toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name, Snippet, Time } from "../../ui/values.tsx";

const NAME_MAX_CHARS = 64;

const ROLES: readonly (readonly [Role, string])[] = [
  ["read", "Can see everything except secrets and payloads, and change nothing."],
  ["admin", "Can do everything that the admin token can, including creating and revoking operators."],
];

export function Operators(_: { readonly at: PageParameters }) {
  const { data, error, hasMore, loadMore, reload, all } = useList<OperatorRow>("/operators", {
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const columns: readonly Column<OperatorRow>[] = [
    {
      title: "Name",
      value: ({ name }) => name,
      cell: ({ name }) => (
        <>
          <Name>{name}</Name>
          {name === session.value?.name && <span class="muted"> (you)</span>}
        </>
      ),
    },
    {
      title: "Role",
      rem: 6.5,
      value: ({ role }) => role,
      cell: ({ role }) => <Badge kind={role === "admin" ? "accent" : ""}>{role}</Badge>,
    },
    {
      title: "Created",
      rem: 7,
      isMedium: true,
      value: ({ created }) => created,
      isTime: true,
      cell: ({ created }) => <Time at={created} />,
    },
    {
      title: "Last used",
      rem: 7.5,
      value: ({ lastUsed }) => lastUsed,
      isTime: true,
      cell: ({ lastUsed }) => <Time at={lastUsed} />,
    },
    {
      title: "Actions",
      rem: 6.5,
      cell: (row) =>
        mayChange.value && (
          <button
            type="button"
            class="small danger"
            aria-label={`Revoke ${row.name}`}
            onClick={() => revoke(row, reload)}
          >
            Revoke
          </button>
        ),
    },
  ];
  return (
    <Page
      title="Operators"
      intro="Give each person and each program a separate token: the audit log then shows who made a change, and you can revoke a single token."
      actions={
        <>
          <DownloadCsv name="operators" columns={columns} rows={data ?? []} all={hasMore ? all : undefined} />
          {mayChange.value && (
            <button type="button" class="primary" onClick={() => setParameters({ create: "1" }, { isPassing: true })}>
              New operator
            </button>
          )}
        </>
      }
      isReady={data !== undefined}
      error={error}
    >
      <Card>
        <Table
          label="Operators"
          columns={mayChange.value ? columns : columns.slice(0, -1)}
          rows={data ?? []}
          keyOf={({ _id }) => _id}
          isVirtual
          isStacked
          sortIn="sort"
          hasMore={hasMore}
          loadMore={loadMore}
          empty={
            <Empty title="No operators yet, only the admin token.">
              {mayChange.value
                ? "Create one for each person who opens the dashboard, and keep the admin token in a safe place."
                : "An operator with the role admin can create one."}
            </Empty>
          }
        />
      </Card>
      <Card title="Roles">
        <dl class="facts">
          {ROLES.map(([role, meaning]) => (
            <>
              <dt>
                <Badge kind={role === "admin" ? "accent" : ""}>{role}</Badge>
              </dt>
              <dd>{meaning}</dd>
            </>
          ))}
          <dt>admin token</dt>
          <dd>
            Not in this list. To replace it, stop the service and run <code>bin/parley admin reset-token</code>.
          </dd>
        </dl>
      </Card>
      {parameters.value.has("create") && mayChange.value && (
        <NewOperator onCreated={reload} onClose={() => setParameters({ create: "" }, { isPassing: true })} />
      )}
    </Page>
  );
}

function revoke({ _id, name }: OperatorRow, reload: () => Promise<void>): void {
  const isOwn = name === session.value?.name;
  confirm({
    title: `Revoke ${inText(name)}?`,
    text: `The token stops working at once on every node, and its sessions and open streams end. ${
      isOwn ? "This is the operator you are signed in as: you will be signed out. " : ""
    }This cannot be undone; a new operator gets a new token.`,
    submit: "Revoke",
    isDanger: true,
    run: async () => {
      await remove(`/operators/${segment(_id)}`);
      toast(`${inText(name)} has been revoked.`);
      await reload();
    },
  });
}

interface NewOperatorProps {
  readonly onCreated: () => Promise<void>;
  readonly onClose: () => void;
}

function NewOperator({ onCreated, onClose }: NewOperatorProps) {
  const name = useSignal("");
  const role = useSignal<Role>("read");
  const made = useSignal<OperatorRow | undefined>(undefined);
  const create = async (): Promise<void> => {
    made.value = await post<OperatorRow>("/operators", { name: name.value.trim(), role: role.value });
    await onCreated();
  };
  if (made.value) return <NewToken of={made.value} onClose={onClose} />;
  return (
    <Dialog title="New operator" onClose={onClose}>
      <Form submit="Create" onSubmit={create} onCancel={onClose} isDisabled={name.value.trim() === ""}>
        <Text
          label="Name"
          value={name.value}
          onInput={(value) => (name.value = value)}
          maxLength={NAME_MAX_CHARS}
          help="As shown in the audit log: a person, or what a program does."
          isRequired
          autoFocus
        />
        <Select
          label="Role"
          value={role.value}
          options={ROLES.map(([one]) => [one, one] as const)}
          onChange={(value) => (role.value = value)}
          help={ROLES.find(([one]) => one === role.value)?.[1]}
        />
      </Form>
    </Dialog>
  );
}

const NewToken = ({
  of: { name, token = "" },
  onClose,
}: {
  readonly of: OperatorRow;
  readonly onClose: () => void;
}) => (
  <Dialog title={`The token of ${inText(name)}`} onClose={onClose}>
    <div class="form">
      <Notice kind="warn">
        Copy the token before you close this: it is shown only once. The service keeps only a hash of it.
      </Notice>
      <Snippet text={token} what="token" />
      <p class="muted small">
        {name} signs in with it here, and uses it with curl as <code>Authorization: Bearer</code> or with the command
        line as <code>PARLEY_OPERATOR_TOKEN</code>.
      </p>
      <div class="form-actions">
        <button type="button" class="primary" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </div>
  </Dialog>
);
