/** One room: the way in, who is inside, when it is open, and what is set. */
import { editRoomPage, recordingsPage, roomsPage } from "../../address/links.ts";
import { navigate, type PageParameters } from "../../address/router.ts";
import { query, remove, segment } from "../../api/client.ts";
import type { Meeting, Room as RoomRow } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { CHANGES_EVERY_MS, useList, useLive } from "../../live/live.ts";
import { insideOf, MEETING_EVERY_MS, roomPath, useEnding, useMeetingNow } from "../../live/meetings.ts";
import { useRoomService } from "../../live/origin.ts";
import { inWords, people } from "../../text/room-text.ts";
import { confirm, nameToType } from "../../ui/dialog.tsx";
import { toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Copy, Time } from "../../ui/values.tsx";
import { Missing } from "../not-found.tsx";
import { RoomMeeting } from "./room-meeting.tsx";
import { NextMeeting, PAST_MAX, PastMeetings } from "./room-times.tsx";
import { WayIn } from "./way-in.tsx";
import { WebhookSecrets } from "./webhook-secrets.tsx";

export function Room({ at: { app = "", room = "" } }: { readonly at: PageParameters }) {
  const { data, error, reload } = useLive<RoomRow>(roomPath(app, room), { everyMs: MEETING_EVERY_MS });
  const now = useMeetingNow(app, room);
  const past = useList<Meeting>(data && `/apps/${segment(app)}/meetings${query({ room: data._id, active: "false" })}`, {
    everyMs: CHANGES_EVERY_MS,
    limitMax: PAST_MAX,
  });
  const isEnding = useEnding({ meeting: now.meeting, past, reload: now.reload });
  const service = useRoomService(app);
  return (
    <Page
      title={room}
      isReady={data !== undefined && now.isReady && service !== undefined && (past.data ?? past.error) !== undefined}
      error={error ?? now.error ?? past.error}
      missing={
        <Missing title={`No room is named “${room}”.`} to={roomsPage(app)} all="All rooms">
          It was renamed or deleted, or its name is misspelt. Names are case-sensitive.
        </Missing>
      }
      intro={<a href={roomsPage(app)}>All rooms</a>}
      actions={
        data && (
          <>
            <a class="button" href={recordingsPage(app, { room: data._id })}>
              Recordings
            </a>
            <a class="button" href={editRoomPage(app, data.roomName)}>
              {mayChange.value ? "Edit" : "All settings"}
            </a>
            {mayChange.value && (
              <button type="button" class="danger" onClick={() => askToDelete(app, data, now.meeting)}>
                Delete …
              </button>
            )}
          </>
        )
      }
    >
      {data && service && (
        <>
          <WayIn app={app} room={data} link={`${service.origin}/${segment(room)}`} />
          <RoomMeeting app={app} room={data} meeting={now.meeting} reload={now.reload} />
          <div class="halves with-facts">
            <NextMeeting app={app} room={data} reload={reload} />
            <PastMeetings app={app} room={data} list={past} isEnding={isEnding} />
            <Settings room={data} meshMax={service.meshMax} />
          </div>
          <WebhookSecrets app={app} room={data} />
        </>
      )}
    </Page>
  );
}

const Settings = ({ room, meshMax }: { readonly room: RoomRow; readonly meshMax: number }) => (
  <Card title="Settings">
    <dl class="facts">
      {Object.entries(inWords(room, meshMax)).map(([title, text]) => (
        <>
          <dt>{title}</dt>
          <dd>{text}</dd>
        </>
      ))}
      <dt>Created</dt>
      <dd>
        <Time at={Date.parse(room.created) / 1000} />
      </dd>
      <dt>ID</dt>
      <dd class="row">
        <code>{room._id}</code> <Copy text={room._id} what="ID of the room" />
      </dd>
    </dl>
  </Card>
);

function askToDelete(app: string, { roomName }: RoomRow, meeting: Meeting | undefined): void {
  const inside = meeting ? insideOf(meeting).length : 0;
  confirm({
    title: `Delete the room ${roomName}`,
    text: (
      <p>
        {inside > 0 && `${people(inside)} inside: their meeting ends. `}
        Its link and its access tokens stop working, and another room can have its name. Recordings stay. This cannot be
        undone.
      </p>
    ),
    submit: "Delete the room",
    isDanger: true,
    typed: nameToType(roomName, inside),
    run: async () => {
      await remove(roomPath(app, roomName));
      toast(`${roomName} is deleted.`);
      navigate(`/apps/${segment(app)}/rooms`);
    },
  });
}
