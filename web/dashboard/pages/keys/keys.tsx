/** Keys and developer section: the credentials of an application, and how to use them. */
import { useEffect } from "preact/hooks";
import { BASE, parameters, setParameters } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App, Key } from "../../api/types.ts";
import { channelProblem, matching } from "../../drafts/scope.ts";
import { currentApp, loadApps } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, useList } from "../../live/live.ts";
import { useOrigin } from "../../live/origin.ts";
import { Search } from "../../ui/fields.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Copy, Name, Time, Values } from "../../ui/values.tsx";
import { NotFound } from "../not-found.tsx";
import { DeleteApp, Payloads } from "./app-danger.tsx";
import { AppSecret } from "./app-secret.tsx";
import { CreateKey } from "./create.tsx";
import { KeySnippets } from "./key-snippets.tsx";

export function Keys() {
  const app = currentApp.value;
  return app ? <KeysOf key={app._id} app={app} /> : <NotFound />;
}

function KeysOf({ app }: { readonly app: App }) {
  const { data, error, reload, hasMore, loadMore } = useList<Key>(`/signalling/keys${query({ app: app._id })}`, {
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ keyId }) => keyId,
  });
  const origin = useOrigin();
  // All of them: the oldest come first, and the tests below are about every key that is live.
  useEffect(() => {
    if (hasMore) void loadMore();
  }, [hasMore, data?.length]);
  const create = (): void => setParameters({ create: "1" });
  const live = data?.filter(({ revoked }) => revoked === null) ?? [];
  const example = live.find(({ type }) => type === "publishable") ?? live[0];
  return (
    <Page
      title="Keys"
      intro="Keys decide who may connect, to which channels, and from where."
      isReady={data !== undefined}
      error={error}
      actions={
        mayChange.value && (
          <button type="button" class="primary" onClick={create}>
            Create key
          </button>
        )
      }
    >
      <KeyList app={app} keys={data ?? []} create={create} />
      {example && <KeySnippets title="Connect" shown={example} />}
      <AppSecret app={app} origin={origin} reload={loadApps} />
      <Payloads app={app} />
      {mayChange.value && <DeleteApp app={app} />}
      {parameters.value.has("create") && mayChange.value && (
        <CreateKey app={app._id} onCreated={reload} onClose={() => setParameters({ create: "" })} />
      )}
    </Page>
  );
}

interface KeyListProps {
  readonly app: App;
  readonly keys: readonly Key[];
  readonly create: () => void;
}

function KeyList({ app, keys, create }: KeyListProps) {
  const channel = parameters.value.get("channel") ?? "";
  const withRevoked = parameters.value.has("revoked");
  const problem = channel === "" ? undefined : channelProblem(channel);
  const revoked = keys.filter((one) => one.revoked !== null).length;
  const rows = keys.filter(
    (one) =>
      (withRevoked || one.revoked === null) && (channel === "" || matching(one.channelPatterns, channel).length > 0),
  );
  return (
    <Card>
      <div class="toolbar list-head">
        <Search
          label="Which keys cover the channel"
          placeholder="Which keys cover chat/42?"
          value={channel}
          onInput={(value) => setParameters({ channel: value })}
        />
        <span role="status" class="muted small">
          {channel !== "" &&
            (problem ?? `${rows.length === 1 ? "1 key covers" : `${rows.length || "No"} keys cover`} this channel.`)}
        </span>
        {revoked > 0 && (
          <button
            type="button"
            class="quiet push"
            aria-pressed={withRevoked}
            onClick={() => setParameters({ revoked: withRevoked ? "" : "1" })}
          >
            {withRevoked ? "Hide" : "Show"} {revoked} revoked
          </button>
        )}
      </div>
      <Table
        label="Keys"
        isFixed
        columns={columnsOf(app)}
        rows={rows}
        keyOf={({ keyId }) => keyId}
        empty={
          channel === "" ? (
            <Empty title="This application has no keys yet.">
              A publishable key lets browsers connect; a secret key lets your backend mint tokens and publish.
              {mayChange.value && (
                <p class="spaced">
                  <button type="button" onClick={create}>
                    Create the first key
                  </button>
                </p>
              )}
            </Empty>
          ) : (
            <Empty title="No key covers this channel.">
              {problem ?? "Add a pattern to a key, or create one that covers it."}
            </Empty>
          )
        }
      />
    </Card>
  );
}

const columnsOf = (app: App): readonly Column<Key>[] => [
  {
    title: "Key",
    cell: ({ keyId, label }) => (
      <div class="key-cell">
        <a title={label ?? undefined} href={`${BASE}/apps/${segment(app.name)}/keys/${segment(keyId)}`}>
          {label ?? "Without a label"}
        </a>
        <span class="row tight">
          <Name>{keyId}</Name>
          <Copy text={keyId} what={`id of ${label ?? keyId}`} />
        </span>
      </div>
    ),
  },
  {
    title: "Type",
    width: 11,
    isMinor: true,
    cell: ({ type }) => <Badge kind={type === "secret" ? "accent" : ""}>{type}</Badge>,
  },
  {
    title: "Channels",
    width: 18,
    isMinor: true,
    cell: ({ channelPatterns }) => <Values of={channelPatterns} none="none" />,
  },
  { title: "Actions", width: 11, isMinor: true, cell: ({ actions }) => <Values of={actions} none="none" /> },
  {
    title: "Origins",
    width: 20,
    isMinor: true,
    cell: ({ type, allowedOrigins = [] }) =>
      type === "secret" ? <span class="muted">not used</span> : <Values of={allowedOrigins} none="no browser" />,
  },
  { title: "Created", width: 9, isMinor: true, cell: ({ created }) => <Time at={created} /> },
  { title: "State", width: 12, cell: (one) => <KeyState of={one} /> },
];

export function KeyState({ of: { revoked, previousSecrets } }: { readonly of: Key }) {
  if (revoked !== null)
    return (
      <span class="values">
        <Badge kind="bad">revoked</Badge>
        <span class="muted small">
          <Time at={revoked} />
        </span>
      </span>
    );
  const previous = previousSecrets?.length ?? 0;
  return (
    <span class="values">
      <Badge kind="good">live</Badge>
      {previous > 0 && <span class="muted small">{previous} previous in grace</span>}
    </span>
  );
}
