/** The rooms of an application: find one, or create one. */
import { useSignal } from "@preact/signals";
import { roomPage } from "../../address/links.ts";
import { navigate, type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { post, query, segment } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import type { Meeting, Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import type { List } from "../../api/types.ts";
import { changesOf, draftOf, nameProblem, type RoomFieldName } from "../../drafts/room-draft.ts";
import { currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, useDelayed, useKept, useList, useLive } from "../../live/live.ts";
import { useOrigin } from "../../live/origin.ts";
import { whole } from "../../text/format.ts";
import { Dialog, Form } from "../../ui/dialog.tsx";
import { Search, Text } from "../../ui/fields.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name, Snippet, Time } from "../../ui/values.tsx";
import { RecordingMark } from "../meetings/recording-state.tsx";
import { NotFound } from "../not-found.tsx";
import { RoomFields } from "./fields.tsx";

/** The most rooms, and meetings, that a call answers at once. */
const PAGE_MAX = 100;

export function Rooms({ at }: { readonly at: PageParameters }) {
  const app = currentApp.value;
  const root = `/apps/${segment(at.app ?? "")}/rooms`;
  const typed = useSignal(parameters.value.get("search") ?? "");
  const search = useDelayed(typed);
  const list = useList<Room>(app && `${root}${query({ search })}`, {
    limitMax: PAGE_MAX,
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const rows = useKept(list.data);
  const active = useLive<List<Meeting>>(
    app && `/apps/${segment(app._id)}/meetings${query({ active: "true", limit: PAGE_MAX })}`,
    {
      everyMs: CHANGES_EVERY_MS,
    },
  );
  const now = new Map(active.data?.data.map((meeting) => [meeting.room, meeting]));
  const isCreating = useSignal(false);
  if (!app) return <NotFound />;
  const create = (): void => {
    isCreating.value = true;
  };
  return (
    <Page
      title="Rooms"
      intro="Rooms are made by your backend or here. People enter one at its address, in a browser."
      isReady={rows !== undefined && (active.data ?? active.error) !== undefined}
      error={list.error ?? active.error}
      actions={
        mayChange.value && (
          <button type="button" class="primary" onClick={create}>
            Create room
          </button>
        )
      }
    >
      <Card>
        <div class="toolbar list-head">
          <Search
            label="Find a room by name"
            value={typed.value}
            onInput={(value) => {
              typed.value = value;
              setParameters({ search: value });
            }}
          />
          <span role="status" class="muted small">
            {list.total !== undefined && `${whole(list.total)} ${list.total === 1 ? "room" : "rooms"} in all`}
          </span>
        </div>
        <Table
          label="Rooms"
          isVirtual
          columns={columnsOf(app.name, now)}
          rows={rows ?? []}
          keyOf={({ _id }) => _id}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          empty={<NoRooms app={app.name} search={search} isSearching={list.hasMore || list.data === undefined} />}
        />
      </Card>
      {isCreating.value && <CreateRoom root={root} onClose={() => (isCreating.value = false)} />}
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
  if (search !== "") return <Empty title="No room has this in its name.">Archived rooms are not listed.</Empty>;
  return (
    <Empty title="This application has no rooms yet.">
      Create one here, or from your backend:
      <div class="spaced">
        <Snippet
          what="call that creates a room"
          text={`curl -s ${origin}/api/v1/room -H 'X-Parley-App: ${app}' \\\n  -H "Authorization: Bearer $APP_SECRET" -d '{"roomName":"standup"}'`}
        />
      </div>
    </Empty>
  );
}

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** `now` has the newest meetings that go on, by room: of a room that is not in it nothing is said. */
const columnsOf = (app: string, now: ReadonlyMap<string, Meeting>): readonly Column<Room>[] => [
  {
    title: "Room",
    cell: ({ _id, roomName }) => (
      <span class="row tight">
        <Name href={roomPage(app, roomName)}>{roomName}</Name> <RecordingMark of={now.get(_id) ?? {}} isShort />
      </span>
    ),
    below: (room) => (
      <>
        {String(room.privacy)} · created <Time at={Date.parse(room.created) / 1000} />
      </>
    ),
  },
  {
    title: "Inside",
    width: 12,
    isNumber: true,
    cell: ({ _id }) => {
      const meeting = now.get(_id);
      return meeting && <Badge kind="good">{whole(meeting.inside ?? 0)}</Badge>;
    },
  },
  {
    title: "Privacy",
    width: 12,
    isMinor: true,
    cell: ({ privacy }) => <Badge kind={privacy === "private" ? "accent" : ""}>{String(privacy)}</Badge>,
  },
  { title: "Open", width: 24, isMinor: true, cell: (room) => <Opening of={room} /> },
  {
    title: "At most",
    width: 10,
    isNumber: true,
    isMinor: true,
    cell: ({ maxParticipants }) =>
      numberOf(maxParticipants) === undefined ? <span class="muted">default</span> : whole(Number(maxParticipants)),
  },
  { title: "Created", width: 12, isMinor: true, cell: ({ created }) => <Time at={Date.parse(created) / 1000} /> },
];

/** When the room can be joined, by its times. */
function Opening({ of: { expireUnixSec, notBeforeUnixSec } }: { readonly of: Room }) {
  const [opens, closes] = [numberOf(notBeforeUnixSec), numberOf(expireUnixSec)];
  const now = nowSeconds.value;
  if (closes !== undefined && closes <= now)
    return (
      <span class="muted">
        closed <Time at={closes} />
      </span>
    );
  if (opens !== undefined && opens > now)
    return (
      <>
        opens <Time at={opens} />
      </>
    );
  if (closes === undefined) return <span class="muted">always</span>;
  return (
    <>
      closes <Time at={closes} />
    </>
  );
}

const MOST_USED: readonly RoomFieldName[] = ["privacy", "expireUnixSec", "maxParticipants", "enableRecording"];
const UNSET = draftOf({});

function CreateRoom({ root, onClose }: { readonly root: string; readonly onClose: () => void }) {
  const name = useSignal("");
  const draft = useSignal(UNSET);
  const create = async (): Promise<void> => {
    const body = { ...changesOf(UNSET, draft.value), ...(name.value !== "" && { roomName: name.value }) };
    const made = await post<Room>(root, body);
    navigate(`${root}/${segment(made.roomName)}`);
  };
  return (
    <Dialog title="Create a room" onClose={onClose}>
      <Form
        submit="Create room"
        isDisabled={nameProblem(name.value) !== undefined}
        onSubmit={create}
        onCancel={onClose}
      >
        <Text
          label="roomName"
          value={name.value}
          onInput={(value) => (name.value = value)}
          error={nameProblem(name.value)}
          placeholder="standup"
          help="Letters, digits, _ and -. Empty: ten letters are made up."
        />
        <RoomFields names={MOST_USED} draft={draft.value} onChange={(next) => (draft.value = next)} />
        <p class="muted small">All other fields are on the room's page.</p>
      </Form>
    </Dialog>
  );
}
