/** Every change by anyone, newest first: who, what, on what, from where, when. */
import { BASE, type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query } from "../../api/client.ts";
import type { AuditEntry } from "../../api/types.ts";
import { apps, nameOfApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, isSettled, useKept, useList } from "../../live/live.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Field } from "../../ui/fields.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";
import { AuditDetails } from "./audit-details.tsx";

const FILTERS = ["app", "who", "what"] as const;

const addressOf = (entry: string): string => {
  const wanted = new URLSearchParams(parameters.value);
  wanted.set("entry", entry);
  return `${BASE}/audit?${wanted}`;
};

const COLUMNS: readonly Column<AuditEntry>[] = [
  { title: "When", rem: 7.25, value: ({ at }) => at, isTime: true, cell: ({ at }) => <Time at={at} /> },
  { title: "Who", width: 18, isMedium: true, value: ({ who }) => who, cell: ({ who }) => <Name>{who}</Name> },
  {
    title: "What",
    value: ({ what }) => what,
    cell: ({ _id, what }) => <a href={addressOf(_id)}>{what}</a>,
    below: ({ who, on }) => <Name>{who === on ? who : `${who} · ${on}`}</Name>,
  },
  { title: "On", isMedium: true, value: ({ on }) => on, cell: ({ on }) => <Name>{on}</Name> },
  {
    title: "Application",
    width: 14,
    isMedium: true,
    value: ({ app, appName }) => appName ?? (app && nameOfApp(app)),
    cell: ({ app, appName }) => app && <Name>{appName ?? nameOfApp(app)}</Name>,
  },
  {
    title: "From",
    width: 13,
    isMinor: true,
    value: ({ address }) => address,
    cell: ({ address }) => address && <Name>{address}</Name>,
  },
];

const jsonOf = (value: object | undefined): string => (value ? JSON.stringify(value) : "");
const IN_FILE: readonly CsvColumn<AuditEntry>[] = [
  ...COLUMNS,
  { title: "Before", value: ({ before }) => jsonOf(before) },
  { title: "After", value: ({ after }) => jsonOf(after) },
];

export function Audit(_: { readonly at: PageParameters }) {
  const chosen = parameters.value;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, chosen.get(name) ?? undefined]));
  const isFiltered = FILTERS.some((name) => filters[name]);
  const { data, error, hasMore, loadMore, all } = useList<AuditEntry>(`/audit${query(filters)}`, {
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const rows = useKept(data);
  const opened = rows?.find(({ _id }) => _id === chosen.get("entry"));
  const known = (of: (entry: AuditEntry) => string): string[] => [...new Set(rows?.map(of))].sort();
  return (
    <Page
      title="Audit log"
      intro="Changes by operators, keys and the command line. Kept for 180 days, without secrets."
      isReady={isSettled(rows, error)}
      error={error}
      actions={<DownloadCsv name="audit" columns={IN_FILE} rows={rows ?? []} all={hasMore ? all : undefined} />}
    >
      <div class="audit-filters">
        <Field label="Application">
          {(attributes) => (
            <select
              {...attributes}
              value={filters.app ?? ""}
              onChange={(event) => setParameters({ app: event.currentTarget.value })}
            >
              <option value="">All</option>
              {apps.value?.map(({ _id, name }) => (
                <option key={_id} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Filter name="who" label="Who" value={filters.who} known={known((entry) => entry.who)} />
        <Filter name="what" label="What" value={filters.what} known={known(({ what }) => what)} />
        {isFiltered && (
          <button type="button" class="quiet" onClick={() => setParameters({ app: "", who: "", what: "" })}>
            Clear filters
          </button>
        )}
      </div>
      {rows && (
        <Card>
          <Table
            label="Changes"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ _id }) => _id}
            isVirtual
            sortIn="sort"
            hasMore={hasMore}
            loadMore={loadMore}
            empty={
              isFiltered ? (
                <Empty title="No changes match the filters.">Enter complete names, such as “key created”.</Empty>
              ) : (
                <Empty title="No changes yet.">Create an application or a key to see the first entry.</Empty>
              )
            }
          />
        </Card>
      )}
      {opened && <AuditDetails entry={opened} onClose={() => setParameters({ entry: "" }, { isPassing: true })} />}
    </Page>
  );
}

interface FilterProps {
  readonly name: string;
  readonly label: string;
  readonly value: string | undefined;
  /** Offered while one types. */
  readonly known: readonly string[];
}

/** The service compares whole names: it is asked when the text is complete, not for each letter. */
const Filter = ({ name, label, value = "", known }: FilterProps) => (
  <Field label={label}>
    {(attributes) => (
      <>
        <input
          key={value}
          {...attributes}
          list={`${name}-known`}
          placeholder="All"
          autocomplete="off"
          spellcheck={false}
          defaultValue={value}
          onChange={(event) => setParameters({ [name]: event.currentTarget.value.trim() })}
        />
        <datalist id={`${name}-known`}>
          {known.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      </>
    )}
  </Field>
);
