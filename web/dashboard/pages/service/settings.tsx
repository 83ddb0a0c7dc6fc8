/** Every setting of the node that answers: its value, where that comes from, its default and what it means. */
import type { ComponentChildren } from "preact";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import type { SettingRow } from "../../api/types.ts";
import { useLive } from "../../live/live.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Search, Segmented } from "../../ui/fields.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge } from "../../ui/values.tsx";

const isChanged = ({ source }: SettingRow): boolean => source !== "default";

const HIDDEN = "(hidden)";
const shown = (value: string): string => (value === HIDDEN ? "set, hidden" : value || "not set");

const SOURCES: Readonly<Record<SettingRow["source"], string>> = {
  flag: "command line",
  environment: "environment",
  file: "file",
  default: "default",
};

/** Parts of the text between backticks are code. */
const withCode = (text: string): ComponentChildren =>
  text.split("`").map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part));

/** A long name breaks at its underscores. */
const breakable = (name: string): ComponentChildren =>
  name.split("_").map((part, at) =>
    at === 0 ? (
      part
    ) : (
      <>
        _<wbr />
        {part}
      </>
    ),
  );

const COLUMNS: readonly Column<SettingRow>[] = [
  {
    title: "Setting",
    value: ({ name }) => name,
    cell: ({ name, meaning }) => (
      <>
        <code class="setting-name">{breakable(name)}</code>
        <p class="muted small">{withCode(meaning)}</p>
      </>
    ),
  },
  {
    title: "Value",
    width: 24,
    value: ({ value }) => shown(value),
    cell: (row) => <code class={isChanged(row) ? "" : "muted"}>{shown(row.value)}</code>,
  },
  {
    title: "Source",
    rem: 8.5,
    isMedium: true,
    value: ({ source }) => SOURCES[source],
    cell: (row) => <Badge kind={isChanged(row) ? "accent" : ""}>{SOURCES[row.source]}</Badge>,
  },
  {
    title: "Default",
    width: 20,
    isMedium: true,
    value: (row) => shown(row.default),
    cell: (row) => <span class="muted">{shown(row.default)}</span>,
  },
];

const IN_FILE: readonly CsvColumn<SettingRow>[] = [...COLUMNS, { title: "Meaning", value: ({ meaning }) => meaning }];

type Shown = "all" | "changed";

export function Settings(_: { readonly at: PageParameters }) {
  const { data, error } = useLive<{ readonly data: readonly SettingRow[] }>("/settings");
  const search = parameters.value.get("search") ?? "";
  const which: Shown = parameters.value.get("show") === "changed" ? "changed" : "all";
  const all = [...(data?.data ?? [])].sort((a, b) => Number(isChanged(b)) - Number(isChanged(a)));
  const changed = all.filter(isChanged);
  const wanted = search.trim().toLowerCase();
  const rows = (which === "changed" ? changed : all).filter(({ name, meaning, value }) =>
    `${name} ${meaning} ${shown(value)}`.toLowerCase().includes(wanted),
  );
  return (
    <Page
      title="Settings"
      intro="The settings of the node that responded. They are read when a node starts: change them on the command line, in the environment or in the file, and restart. Secrets are masked."
      isReady={data !== undefined}
      error={error}
    >
      <div class="toolbar">
        <Search
          label="Search settings"
          placeholder="Name, meaning or value"
          value={search}
          onInput={(value) => setParameters({ search: value })}
        />
        <Segmented<Shown>
          label="Which settings"
          value={which}
          options={[
            ["all", `All ${all.length}`],
            ["changed", `Changed ${changed.length}`],
          ]}
          onChange={(value) => setParameters({ show: value === "all" ? "" : value })}
        />
        <span class="push">
          <DownloadCsv name="settings" columns={IN_FILE} rows={rows} />
        </span>
      </div>
      <Card>
        <Table
          label="Settings"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ name }) => name}
          isStacked
          isFixed
          sortIn="sort"
          empty={
            wanted ? (
              <Empty title="No settings match the search." />
            ) : (
              <Empty title="Every setting has its default.">
                Change one with a flag, in the environment or in a file.
              </Empty>
            )
          }
        />
      </Card>
    </Page>
  );
}
