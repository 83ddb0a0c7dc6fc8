/** One meeting: who was or is in it, from when to when, why each stay has ended, and what was recorded. */
import { meetingsPage, roomPage } from "../../address/links.ts";
import type { PageParameters } from "../../address/router.ts";
import { nowSeconds } from "../../api/now.ts";
import type { Meeting as MeetingRow, Participant } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { useLive } from "../../live/live.ts";
import { insideOf, MEETING_EVERY_MS, meetingPath } from "../../live/meetings.ts";
import { duration, exactTime } from "../../text/format.ts";
import { people } from "../../text/room-text.ts";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Badge, Copy, Name } from "../../ui/values.tsx";
import { Missing } from "../not-found.tsx";
import { MeetingRecordings } from "../recordings/meeting-recordings.tsx";
import { EndMeeting, Participants } from "./participants.tsx";
import { RecordButton, RecordingMark, starterOf } from "./recording-state.tsx";

export function Meeting({ at }: { readonly at: PageParameters }) {
  const app = at.app ?? "";
  const { data, error, reload } = useLive<MeetingRow>(meetingPath(app, at.meeting ?? ""), {
    everyMs: MEETING_EVERY_MS,
  });
  return (
    <Page
      title={data ? `Meeting in ${data.roomName}` : "Meeting"}
      isReady={data !== undefined}
      error={error}
      missing={
        <Missing title="Meeting not found" to={meetingsPage(app)} all="All meetings">
          Its retention period has ended, or the address is incomplete.
        </Missing>
      }
      intro={<a href={meetingsPage(app)}>All meetings</a>}
      actions={
        data?.active &&
        mayChange.value && (
          <>
            <RecordButton app={app} meeting={data} inside={insideOf(data).length} reload={reload} />
            <EndMeeting app={app} meeting={data} reload={reload} />
          </>
        )
      }
    >
      {data && (
        <>
          <Card>
            <Facts app={app} meeting={data} />
          </Card>
          <Card title="Participants" aside={peopleIn(data.participants ?? [])}>
            <Participants
              app={app}
              room={data.room}
              roomName={data.roomName}
              rows={data.participants ?? []}
              reload={reload}
              empty={<Empty title="No one has joined yet." />}
            />
          </Card>
          <MeetingRecordings app={app} meeting={data} />
        </>
      )}
    </Page>
  );
}

/** Someone who left and came back is listed twice, and is one person. */
function peopleIn(rows: readonly Participant[]): string {
  const all = new Set(rows.map(({ externalUserId, name }) => externalUserId ?? name)).size;
  return rows.length === all ? people(all) : `${people(all)}, joined ${rows.length} times`;
}

function Facts({ app, meeting }: { readonly app: string; readonly meeting: MeetingRow }) {
  const { _id, roomName, active, locked, recording, startTime, endTime } = meeting;
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        {active ? <Badge kind="good">{people(insideOf(meeting).length)} inside</Badge> : <Badge>over</Badge>}
        {locked && <Badge kind="warn">locked</Badge>} <RecordingMark of={meeting} />
      </dd>
      {recording && (
        <>
          <dt>Recorded</dt>
          <dd>
            since {exactTime(recording.since)}, started by {starterOf(recording.by)}
          </dd>
        </>
      )}
      <dt>Room</dt>
      <dd>
        <Name href={roomPage(app, roomName)}>{roomName}</Name>
      </dd>
      <dt>From</dt>
      <dd>{exactTime(startTime)}</dd>
      <dt>To</dt>
      <dd>{endTime === undefined ? <span class="muted">in progress</span> : exactTime(endTime)}</dd>
      <dt>Lasted</dt>
      <dd>{duration((endTime ?? nowSeconds.value) - startTime)}</dd>
      <dt>Meeting session</dt>
      <dd class="row">
        <code>{_id}</code> <Copy text={_id} what="id of the meeting" />
      </dd>
    </dl>
  );
}
