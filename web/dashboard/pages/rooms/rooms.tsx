/** The rooms of an application: find one, copy its link, see who is inside. */
import { meetingsPage, newRoomPage, roomPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import type { Meeting, Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import type { List } from "../../api/types.ts";
import { currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, useDelayed, useKept, useList, useLive } from "../../live/live.ts";
import { MEETING_EVERY_MS } from "../../live/meetings.ts";
import { useOrigin, useRoomService } from "../../live/origin.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { whole } from "../../text/format.ts";
import { type Audience, audienceOf, openingOf, timesOf } from "../../text/room-text.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Search } from "../../ui/fields.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Copy, Name, Snippet, Time } from "../../ui/values.tsx";
import { RecordingMark } from "../meetings/recording-state.tsx";
import { NotFound } from "../not-found.tsx";

/** The most rooms, and meetings, that a call answers at once. */
const PAGE_MAX = 100;

export function Rooms({ at }: { readonly at: PageParameters }) {
  const app = currentApp.value;
  const root = `/apps/${segment(at.app ?? "")}/rooms`;
  const typed = parameters.value.get("search") ?? "";
  const search = useDelayed({ value: typed });
  const list = useList<Room>(app && `${root}${query({ search })}`, {
    limitMax: PAGE_MAX,
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const rows = useKept(list.data);
  const active = useLive<List<Meeting>>(
    app && `/apps/${segment(app._id)}/meetings${query({ active: "true", limit: PAGE_MAX })}`,
    { everyMs: MEETING_EVERY_MS },
  );
  const service = useRoomService(at.app ?? "");
  const now = new Map(active.data?.data.map((meeting) => [meeting.room, meeting]));
  if (!app) return <NotFound />;
  const columns = columnsOf(app.name, service?.origin ?? "", now);
  return (
    <Page
      title="Rooms"
      intro="A room has a link: people open it in a browser, and meet. Create rooms here, or from your backend."
      isReady={rows !== undefined && service !== undefined && (active.data ?? active.error) !== undefined}
      error={list.error ?? active.error}
      actions={
        mayChange.value && (
          <a class="button primary" href={newRoomPage(app.name)}>
            New room
          </a>
        )
      }
    >
      <Card>
        <div class="toolbar list-head">
          <Search label="Find a room by name" value={typed} onInput={(value) => setParameters({ search: value })} />
          <span role="status" class="muted small">
            {list.total !== undefined && `${whole(list.total)} ${list.total === 1 ? "room" : "rooms"} in all`}
            {now.size > 0 && (
              <>
                , <a href={meetingsPage(app.name)}>{now.size === 1 ? "1 in use" : `${whole(now.size)} in use`}</a>
              </>
            )}
          </span>
          <span class="push">
            <DownloadCsv
              name={`rooms-${app.name}`}
              columns={inFile(columns, service?.origin ?? "")}
              rows={rows ?? []}
              all={list.hasMore ? list.all : undefined}
            />
          </span>
        </div>
        <Table
          label="Rooms"
          isVirtual
          sortIn="sort"
          columns={columns}
          rows={rows ?? []}
          keyOf={({ _id }) => _id}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          empty={<NoRooms app={app.name} search={search} isSearching={list.hasMore || list.data === undefined} />}
        />
      </Card>
    </Page>
  );
}

interface NoRoomsProps {
  readonly app: string;
  readonly search: string;
  readonly isSearching: boolean;
}

function NoRooms({ app, search, isSearching }: NoRoomsProps) {
  const origin = useOrigin();
  if (isSearching) return <Empty title="Searching …" />;
  if (search !== "") return <Empty title="No rooms match.">Deleted rooms are not listed.</Empty>;
  return (
    <Empty title="This application has no rooms yet.">
      {mayChange.value && (
        <>
          <a href={newRoomPage(app)}>Create the first one</a>, or do it from your backend:
        </>
      )}
      <div class="spaced">
        <Snippet
          what="call that creates a room"
          text={`curl -s ${origin}/api/v1/room -H 'X-Parley-App: ${app}' \\\n  -H "Authorization: Bearer $APP_SECRET" -d '{"roomName":"standup"}'`}
        />
      </div>
    </Empty>
  );
}

const inFile = (columns: readonly Column<Room>[], origin: string): readonly CsvColumn<Room>[] => [
  ...columns,
  { title: "Link", value: ({ roomName }) => `${origin}/${segment(roomName)}` },
  { title: "Id", value: ({ _id }) => _id },
];

/** `now` has the newest meetings that go on, by room: of a room that is not in it nothing is said. */
const columnsOf = (app: string, origin: string, now: ReadonlyMap<string, Meeting>): readonly Column<Room>[] => [
  {
    title: "Room",
    value: ({ roomName }) => roomName,
    cell: ({ _id, roomName }) => (
      <span class="row tight">
        <Name href={roomPage(app, roomName)}>{roomName}</Name> <RecordingMark of={now.get(_id) ?? {}} isShort />
      </span>
    ),
    below: (room) => (
      <>
        {AUDIENCES[audienceOf(room)]} ·{" "}
        {openingOf(room, nowSeconds.value) === "always" ? (
          <>
            created <Time at={Date.parse(room.created) / 1000} />
          </>
        ) : (
          <Open of={room} />
        )}
      </>
    ),
  },
  {
    title: "Inside",
    rem: 5.5,
    isNumber: true,
    value: ({ _id }) => now.get(_id)?.inside ?? 0,
    cell: ({ _id }) => {
      const meeting = now.get(_id);
      return meeting && <Badge kind="good">{whole(meeting.inside ?? 0)}</Badge>;
    },
  },
  {
    title: "Who can join",
    rem: 8.5,
    isMedium: true,
    value: (room) => AUDIENCES[audienceOf(room)],
    cell: (room) => AUDIENCES[audienceOf(room)],
  },
  {
    title: "Open",
    rem: 9,
    isMinor: true,
    value: (room) => openingOf(room, nowSeconds.value),
    cell: (room) => <Open of={room} />,
  },
  {
    title: "Created",
    rem: 7.5,
    isMedium: true,
    value: ({ created }) => Date.parse(created) / 1000,
    isTime: true,
    cell: ({ created }) => <Time at={Date.parse(created) / 1000} />,
  },
  {
    title: "Link",
    rem: 5.5,
    isMedium: true,
    cell: ({ roomName }) => <Copy text={`${origin}/${segment(roomName)}`} what={`link to ${roomName}`} />,
  },
];

const AUDIENCES = { anyone: "anyone", lobby: "lobby", invited: "access token" } as const satisfies Record<
  Audience,
  string
>;

/** When the room can be joined, by its times. */
function Open({ of: room }: { readonly of: Room }) {
  const { opens, closes } = timesOf(room);
  switch (openingOf(room, nowSeconds.value)) {
    case "always":
      return <span class="muted">always</span>;
    case "over":
      return (
        <span class="muted">
          closed <Time at={closes} />
        </span>
      );
    case "later":
      return (
        <>
          opens <Time at={opens} />
        </>
      );
    case "now":
      return (
        <>
          closes <Time at={closes} />
        </>
      );
  }
}
