/** What is kept, how much there is, how long it stays and where that is changed: of the service, or of one application. */
import { dataPage, namedPage, settingPage } from "../../address/links.ts";
import type { PageParameters } from "../../address/router.ts";
import type { Amount, Change, KeptData, PlaceId, WhatIsKept } from "../../api/data-types.ts";
import type { App } from "../../api/types.ts";
import { apps, currentApp } from "../../live/apps.ts";
import { useLive } from "../../live/live.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { bytes, short, whole } from "../../text/format.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Snippet } from "../../ui/values.tsx";

/** The service counts no more often. */
const REFRESH_MS = 10_000;

const PLACES: Readonly<Record<PlaceId, string>> = {
  store: "Store",
  histories: "Histories",
  recordings: "Recordings",
  files: "Other files",
};

export function Data(_: { readonly at: PageParameters }) {
  const app = currentApp.value;
  const path = app ? `/apps/${app._id}/data` : "/data";
  const { data, error } = useLive<WhatIsKept>(path, { everyMs: REFRESH_MS });
  return (
    <Page
      title="Data"
      intro={
        app
          ? `What is kept for ${app.name}, and for how long.`
          : "What this service keeps, and for how long. Each application has its own limits."
      }
      isReady={data !== undefined}
      error={error}
    >
      {data && !app && <Places places={data.places} />}
      {data && (
        <Card
          title="What is kept"
          aside={
            <span class="row">
              {isEstimated(data) && '"About": an estimate, or a minimum'}
              <DownloadCsv name="data" columns={IN_FILE(app)} rows={data.data} />
            </span>
          }
        >
          <p class="muted small">
            When an application is deleted, all of it is removed within an hour, except where a line says otherwise.
          </p>
          <Table
            label="What is kept"
            columns={columnsOf(app)}
            rows={data.data}
            keyOf={({ id }) => id}
            isStacked
            empty={<Empty title="Nothing is kept." />}
          />
        </Card>
      )}
      {data && !app && <ByApplication />}
      {data && <Commands data={data.data} />}
    </Page>
  );
}

const isEstimated = ({ data }: WhatIsKept): boolean => data.some(({ now }) => now.isAbout);

const Places = ({ places }: Pick<WhatIsKept, "places">) => (
  <div class="numbers">
    {places.map(({ id, where, bytes: size, isAbout }) => (
      <Card key={id} class="stat">
        <h2 class="label">{PLACES[id]}</h2>
        <div class="value">{size === null ? "–" : `${isAbout ? "about " : ""}${bytes(size)}`}</div>
        <div class="unit place">
          <Name>{where}</Name>
        </div>
      </Card>
    ))}
  </div>
);

const columnsOf = (app: App | undefined): readonly Column<KeptData>[] => [
  {
    title: "What",
    width: 32,
    value: ({ title }) => title,
    cell: ({ title, holds, page }) => {
      const to = page === null ? undefined : namedPage(page, app?.name);
      return (
        <>
          {to === undefined ? <strong>{title}</strong> : <a href={to}>{title}</a>}
          <p class="muted small">{holds}.</p>
        </>
      );
    },
  },
  {
    title: "Now",
    width: 18,
    isNumber: true,
    value: ({ now }) => now.count ?? now.bytes,
    cell: (row) => <Now {...row} />,
  },
  {
    title: "Kept",
    width: 23,
    value: ({ kept }) => kept,
    cell: ({ kept, deletion }) => (
      <div>
        {kept}
        {deletion.startsWith("kept") && <p class="muted small">If the application is deleted: {deletion}.</p>}
      </div>
    ),
  },
  { title: "At most", width: 16, value: ({ limit }) => limit, cell: ({ limit }) => <div>{limit}</div> },
  { title: "Change", cell: ({ change }) => <Changes changes={change} app={app} /> },
];

const IN_FILE = (app: App | undefined): readonly CsvColumn<KeptData>[] => [
  ...columnsOf(app),
  { title: "Count", value: ({ now }) => now.count },
  { title: "Bytes", value: ({ now }) => now.bytes },
];

interface NowProps {
  readonly counted: string | null;
  readonly now: Amount;
}

function Now({ counted, now: { count, bytes: size, isAbout } }: NowProps) {
  if (count === null && size === null) return <span class="muted">–</span>;
  return (
    <div>
      {isAbout && <span class="muted">about </span>}
      {count !== null && (
        <span title={whole(count)}>
          {short(count)} <span class="muted">{counted}</span>
        </span>
      )}
      {size !== null && <div>{bytes(size)}</div>}
    </div>
  );
}

const PAGES: Readonly<Record<string, string>> = {
  rules: "Channel rules",
  recordings: "Recordings",
  meetings: "Meetings",
};

/** Links to where its limits are changed. */
function Changes({ changes, app }: { readonly changes: readonly Change[]; readonly app: App | undefined }) {
  if (changes.length === 0) return <span class="muted">fixed</span>;
  const links = new Map(changes.flatMap((change) => linkOf(change, app)));
  if (links.size === 0) return <span class="muted">in each application</span>;
  return (
    <ul class="plain">
      {[...links].map(([to, text]) => (
        <li key={to}>
          <a href={to}>{text}</a>
        </li>
      ))}
    </ul>
  );
}

function linkOf({ page, setting }: Change, app: App | undefined): (readonly [to: string, text: string])[] {
  if (setting !== undefined) return [[settingPage(setting), "Settings"]];
  const to = page === undefined ? undefined : namedPage(page, app?.name);
  return to === undefined || page === undefined ? [] : [[to, PAGES[page] ?? page]];
}

/** For scripts, and for those who sit at a terminal anyway. */
function Commands({ data }: Pick<WhatIsKept, "data">) {
  const commands = data.flatMap(({ title, change }) =>
    change.flatMap(({ command }) => (command === undefined ? [] : [{ title, command }])),
  );
  return (
    <Card title="On the command line">
      <div class="commands">
        {commands.map(({ title, command }) => (
          <Snippet key={command} text={command} what={`the command for ${title.toLowerCase()}`} />
        ))}
      </div>
    </Card>
  );
}

/** More are found with the switcher. */
const APPS_SHOWN = 50;

function ByApplication() {
  const all = apps.value ?? [];
  if (all.length === 0) return null;
  return (
    <Card
      title="By application"
      aside={all.length > APPS_SHOWN && `The first ${APPS_SHOWN}; choose others at the top left`}
    >
      <ul class="data-apps">
        {all.slice(0, APPS_SHOWN).map(({ _id, name }) => (
          <li key={_id}>
            <Name href={dataPage(name)}>{name}</Name>
          </li>
        ))}
      </ul>
    </Card>
  );
}
