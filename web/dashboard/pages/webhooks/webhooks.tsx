/** The webhooks of an application: what its backends get, and whether it arrives. */
import { webhookPage } from "../../address/links.ts";
import { parameters, setParameters } from "../../address/router.ts";
import { segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App } from "../../api/types.ts";
import type { Webhook } from "../../api/webhook-types.ts";
import { currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, isSettled, useList } from "../../live/live.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { nameOf, shown } from "../../text/webhook-text.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name, Time, Values } from "../../ui/values.tsx";
import { NotFound } from "../not-found.tsx";
import { CreateWebhook } from "./forms.tsx";
import { HealthCell, healthDetails } from "./health.tsx";

export function Webhooks() {
  const app = currentApp.value;
  return app ? <WebhooksOf key={app._id} app={app} /> : <NotFound />;
}

function WebhooksOf({ app }: { readonly app: App }) {
  const path = `/apps/${segment(app._id)}/webhooks`;
  const { data, error, reload, hasMore, loadMore, all } = useList<Webhook>(path, {
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const create = (): void => setParameters({ create: "1" }, { isPassing: true });
  return (
    <Page
      title="Webhooks"
      intro="Parley calls your backend when something happens: signed, and repeated until it arrives."
      isReady={isSettled(data, error)}
      error={error}
      actions={
        <>
          <DownloadCsv
            name={`webhooks-${app.name}`}
            columns={IN_FILE}
            rows={data ?? []}
            all={hasMore ? all : undefined}
          />
          {mayChange.value && (
            <button type="button" class="primary" onClick={create}>
              Create webhook
            </button>
          )}
        </>
      }
    >
      {data && (
        <Card>
          <Table
            label="Webhooks"
            isFixed
            sortIn="sort"
            columns={columnsOf(app.name)}
            rows={data}
            keyOf={({ _id }) => _id}
            hasMore={hasMore}
            loadMore={loadMore}
            empty={<NoWebhooks create={create} />}
          />
        </Card>
      )}
      {parameters.value.has("create") && mayChange.value && (
        <CreateWebhook
          app={app.name}
          path={path}
          onCreated={reload}
          onClose={() => setParameters({ create: "" }, { isPassing: true })}
        />
      )}
    </Page>
  );
}

const NoWebhooks = ({ create }: { readonly create: () => void }) => (
  <Empty title="This application has no webhooks yet.">
    <p>
      A webhook tells your backend when someone joins or leaves, a meeting ends or a recording is ready. The URLs that
      you set in rooms appear here too, once they are called.
    </p>
    {mayChange.value && (
      <p class="spaced">
        <button type="button" onClick={create}>
          Create the first webhook
        </button>
      </p>
    )}
    <p class="spaced">
      To try it on your machine, run <code>bin/parley webhooks listen</code>.
    </p>
  </Empty>
);

const MADE_BY: Readonly<Record<Webhook["kind"], string>> = {
  control: "",
  application: "by the backend",
  room: "URL of rooms",
};

const columnsOf = (app: string): readonly Column<Webhook>[] => [
  {
    title: "Webhook",
    value: nameOf,
    cell: (one) => (
      <div class="key-cell">
        <a href={webhookPage(app, one._id)} title={one.description ?? undefined}>
          {nameOf(one)}
        </a>
        <Name>{one.url}</Name>
        {one.kind !== "control" && (
          <div>
            <Badge>{MADE_BY[one.kind]}</Badge>
          </div>
        )}
      </div>
    ),
    below: (one) => (
      <>
        {one.health.lastSuccess === null ? (
          "never delivered"
        ) : (
          <>
            delivered <Time at={one.health.lastSuccess} />
          </>
        )}
        {healthDetails(one).map((detail) => ` · ${detail}`)}
      </>
    ),
  },
  { title: "Health", width: 26, value: ({ health }) => health.state, cell: (one) => <HealthCell of={one} /> },
  {
    title: "Events",
    width: 20,
    isMedium: true,
    value: ({ events }) => shown(events).join(" "),
    cell: ({ kind, events }) => (
      <Values of={shown(events)} none={kind === "room" ? "those of its rooms' fields" : "none"} />
    ),
  },
  {
    title: "Last delivery",
    rem: 8,
    isMedium: true,
    value: ({ health }) => health.lastSuccess,
    isTime: true,
    cell: ({ health }) => <Time at={health.lastSuccess} />,
  },
];

const IN_FILE: readonly CsvColumn<Webhook>[] = [
  ...columnsOf(""),
  { title: "URL", value: ({ url }) => url },
  { title: "Id", value: ({ _id }) => _id },
];
