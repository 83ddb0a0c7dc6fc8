/** The meetings of an application: those that go on, and those that were. */
import { useComputed, useSignal } from "@preact/signals";
import { meetingPage } from "../../address/links.ts";
import { parameters, setParameters } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import type { Meeting } from "../../api/room-types.ts";
import type { App } from "../../api/types.ts";
import { currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, isSettled, useDelayed, useKept, useList } from "../../live/live.ts";
import { useRoomName } from "../../live/room-name.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { appointment, duration, fromLocalInput, shortMoment, toLocalInput, whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { people } from "../../text/room-text.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Select, Text } from "../../ui/fields.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name } from "../../ui/values.tsx";
import { NotFound } from "../not-found.tsx";
import { RecordingMark } from "./recording-state.tsx";
import { MeetingSettings } from "./settings.tsx";

/** The call counts no more of a meeting. */
const PEOPLE_COUNTED_MAX = 50;
/** The most meetings that the call lists at once. */
const PAGE_MAX = 100;
const STATES = [
  ["", "all"],
  ["true", "in progress"],
  ["false", "over"],
] as const;
const FILTERS = ["room", "active", "startedAfter", "startedBefore"] as const;

type Filter = (typeof FILTERS)[number];

const filterOf = (name: Filter): string => parameters.value.get(name) ?? "";

export function Meetings() {
  const app = currentApp.value;
  return app ? <MeetingsOf key={app._id} app={app} /> : <NotFound />;
}

function MeetingsOf({ app }: { readonly app: App }) {
  const filtered = useComputed(() => query(Object.fromEntries(FILTERS.map((name) => [name, filterOf(name)]))));
  const delayed = useDelayed(filtered);
  const list = useList<Meeting>(`/apps/${segment(app._id)}/meetings${delayed}`, {
    limitMax: PAGE_MAX,
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const rows = useKept(list.data);
  const roomName = useRoomName(app._id, filterOf("room"), list.data);
  const isFiltered = delayed !== "";
  return (
    <Page
      title="Meetings"
      intro="A meeting starts when the first person joins a room, and ends when the room has been empty for 30 seconds."
      error={list.error}
      isReady={isSettled(rows, list.error)}
    >
      <Card>
        <MeetingFilters roomName={roomName} />
      </Card>
      <Card>
        <div class="toolbar list-head">
          <span role="status">
            {list.total !== undefined && (
              <strong>{list.total === 1 ? "1 meeting" : `${whole(list.total)} meetings`}</strong>
            )}
          </span>
          <span class="push">
            <DownloadCsv
              name={`meetings-${app.name}`}
              columns={IN_FILE}
              rows={rows ?? []}
              all={list.hasMore ? list.all : undefined}
            />
          </span>
        </div>
        <Table
          label="Meetings"
          isVirtual
          sortIn="sort"
          columns={columnsOf(app.name)}
          rows={rows ?? []}
          keyOf={({ _id }) => _id}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          empty={
            isFiltered ? (
              <Empty title="No meetings match these filters." />
            ) : (
              <Empty title="No meetings yet.">
                Open a room under Rooms: its link is for your guests, and "Join as host" is for you.
              </Empty>
            )
          }
        />
      </Card>
      <MeetingSettings app={app} />
    </Page>
  );
}

function MeetingFilters({ roomName }: { readonly roomName: string | undefined }) {
  // Decided once: on a narrow screen the fields would push the list out of view.
  const isOpen = useSignal(matchMedia("(min-width: 48rem)").matches).value;
  return (
    <search>
      <details open={isOpen}>
        <summary>
          <strong>Filters</strong>
        </summary>
        <div class="filter-grid">
          <Text
            label="Room"
            placeholder="id or name"
            value={filterOf("room")}
            help={roomName && `ID of ${inText(roomName)}`}
            onInput={(value) => setParameters({ room: value.trim() })}
          />
          <Select
            label="State"
            value={STATES.find(([value]) => value === filterOf("active"))?.[0] ?? ""}
            options={STATES}
            onChange={(value) => setParameters({ active: value })}
          />
          <TimeFilter name="startedAfter" label="Started at or after" />
          <TimeFilter name="startedBefore" label="Started before" />
        </div>
      </details>
    </search>
  );
}

/** In the address it is Unix seconds, as in the call. */
const TimeFilter = ({ name, label }: { readonly name: Filter; readonly label: string }) => {
  const seconds = Number(filterOf(name));
  return (
    <Text
      label={label}
      type="datetime-local"
      step={1}
      value={seconds > 0 ? toLocalInput(seconds) : ""}
      onInput={(value) => setParameters({ [name]: String(fromLocalInput(value) ?? "") })}
    />
  );
};

/** So far. */
const lengthOf = ({ startTime, endTime }: Meeting): number => (endTime ?? nowSeconds.value) - startTime;

const columnsOf = (app: string): readonly Column<Meeting>[] => [
  {
    title: "Room",
    value: ({ roomName }) => roomName,
    cell: (one) => (
      <span class="row tight">
        <Name href={meetingPage(app, one._id)}>{one.roomName}</Name> <RecordingMark of={one} isShort />
        {one.recorded && !one.recording && <Badge>recorded</Badge>}
      </span>
    ),
    below: (one) => (
      <>
        {shortMoment(one.startTime)}, {duration(lengthOf(one))},{" "}
        {one.people === PEOPLE_COUNTED_MAX ? `${PEOPLE_COUNTED_MAX}+ people` : people(one.people ?? 0)}
      </>
    ),
  },
  {
    title: "Started",
    rem: 13,
    isMedium: true,
    value: ({ startTime }) => startTime,
    isTime: true,
    cell: ({ startTime }) => appointment(startTime),
  },
  {
    title: "Lasted",
    rem: 8,
    isNumber: true,
    isMedium: true,
    value: lengthOf,
    cell: (one) => duration(lengthOf(one)),
  },
  {
    title: "People",
    rem: 5.5,
    isNumber: true,
    isMedium: true,
    value: ({ people: count = 0 }) => count,
    cell: ({ people: count = 0 }) => (count === PEOPLE_COUNTED_MAX ? `${PEOPLE_COUNTED_MAX}+` : whole(count)),
  },
  {
    title: "State",
    rem: 6.5,
    value: ({ active }) => (active ? "active" : "over"),
    cell: ({ active, inside = 0 }) =>
      active ? <Badge kind="good">{whole(inside)} inside</Badge> : <span class="muted">over</span>,
  },
];

/** "Lasted" is in seconds there. */
const IN_FILE: readonly CsvColumn<Meeting>[] = [
  ...columnsOf(""),
  { title: "Id", value: ({ _id }) => _id },
  { title: "Ended", value: ({ endTime }) => endTime, isTime: true },
  { title: "Recorded", value: ({ recorded }) => (recorded ? "yes" : "no") },
];
