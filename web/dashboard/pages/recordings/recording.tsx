/** One recording: played in the page, with everything that is known of it, and the others of its meeting. */
import type { ComponentChildren } from "preact";
import { meetingPage, playbackPage, recordingsPage, roomPage } from "../../address/links.ts";
import { navigate, type PageParameters } from "../../address/router.ts";
import { addressOf, remove, segment } from "../../api/client.ts";
import type { RecordingDetail, Recording as Row } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { CHANGES_EVERY_MS, useList, useLive } from "../../live/live.ts";
import { recordingsPath, sourceOf } from "../../live/recordings.ts";
import { bytes, duration, exactTime, position } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { TERMS } from "../../text/terms.ts";
import { confirm } from "../../ui/dialog.tsx";
import { Notice, toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Term } from "../../ui/term.tsx";
import { Copy, Name } from "../../ui/values.tsx";
import { Missing } from "../not-found.tsx";
import { RecordingTable } from "./meeting-recordings.tsx";
import { Player } from "./player.tsx";

/** The most recordings that the call lists at once. */
const PAGE_MAX = 100;

export function Recording({ at }: { readonly at: PageParameters }) {
  const { app = "", recording = "" } = at;
  const path = `${recordingsPath(app)}/${segment(recording)}`;
  const { data, error } = useLive<RecordingDetail>(path, { everyMs: CHANGES_EVERY_MS });
  const address = addressOf(`${path}/file`);
  return (
    <Page
      title={data ? `Recording of ${inText(data.participantUsername)}` : "Recording"}
      isReady={data !== undefined}
      error={error}
      missing={
        <Missing title="Recording not found" to={recordingsPage(app)} all="All recordings">
          It was deleted, its retention period has ended, or the address is incomplete.
        </Missing>
      }
      intro={<a href={recordingsPage(app)}>All recordings</a>}
      actions={
        data &&
        mayChange.value && (
          <>
            <a class="button" href={`${address}?download=1`} download={data.downloadName}>
              Download
            </a>
            <button type="button" class="danger" onClick={() => askToDelete(app, data)}>
              Delete …
            </button>
          </>
        )
      }
    >
      {data && (
        <div class="columns with-facts">
          <Card>
            {mayChange.value ? (
              <Player
                key={data._id}
                recording={data}
                address={address}
                poster={data.hasThumbnail && addressOf(`${path}/thumbnail`)}
              />
            ) : (
              <Notice>Only operators with the role admin can play or download recordings.</Notice>
            )}
          </Card>
          <Card>
            <Facts app={app} of={data} />
          </Card>
          <SameMeeting key={data._id} app={app} of={data} />
        </div>
      )}
    </Page>
  );
}

function askToDelete(app: string, { _id, participantUsername: name, sizeInBytes }: Row): void {
  confirm({
    title: `Delete the recording of ${inText(name)}`,
    text: <p>It is deleted with its file of {bytes(sizeInBytes)}. Links to it end. This cannot be undone.</p>,
    submit: "Delete the recording",
    isDanger: true,
    run: async () => {
      await remove(`${recordingsPath(app)}/${segment(_id)}`);
      toast(`The recording of ${inText(name)} is deleted.`);
      navigate(recordingsPath(app));
    },
  });
}

const MEANINGS: Readonly<Record<string, string>> = {
  Mended: TERMS.mended,
  Completed: TERMS.completed,
  meetingSession: TERMS.meetingSession,
  participantSession: TERMS.participantSession,
};

function Facts({ app, of: one }: { readonly app: string; readonly of: RecordingDetail }) {
  const { meeting, roomName, startTime, endTime, mended } = one;
  const facts: readonly (readonly [name: string, value: ComponentChildren] | false)[] = [
    ["Participant", one.participantUsername],
    ["Source", sourceOf(one)],
    [
      "Room",
      roomName === null || one.roomArchived ? (
        <>
          <Name>{roomName ?? one.room}</Name> <span class="muted">archived</span>
        </>
      ) : (
        <Name href={roomPage(app, roomName)}>{roomName}</Name>
      ),
    ],
    [
      "Meeting",
      meeting ? (
        <a href={meetingPage(app, meeting._id)}>{exactTime(meeting.startTime)}</a>
      ) : (
        <span class="muted">not known</span>
      ),
    ],
    [
      "Started",
      <>
        {exactTime(startTime)}
        {meeting && <span class="muted">, {position(startTime - meeting.startTime)} into the meeting</span>}
      </>,
    ],
    ["Length", duration(endTime - startTime)],
    one.speechMs !== undefined && ["Speech", one.speechMs === 0 ? "none" : duration(Math.max(1, one.speechMs / 1000))],
    ["Size", bytes(one.sizeInBytes)],
    mended !== undefined && ["Mended", mended ? "yes" : "no, seeking may not work"],
    ["Completed", exactTime(one.completed)],
    ["File", <code key="file">{one.downloadName}</code>],
    ["ID", <Id key="id" of={one._id} what="id of the recording" />],
    ["Meeting session", <Id key="meeting" of={one.meetingSession} what="meetingSession" />],
    ["Participant session", <Id key="participant" of={one.participantSession} what="participantSession" />],
  ];
  return (
    <dl class="facts">
      {facts
        .filter((fact) => fact !== false)
        .flatMap(([name, value]) => [
          <dt key={name}>{MEANINGS[name] ? <Term name={name} meaning={MEANINGS[name]} /> : name}</dt>,
          <dd key={`${name} value`}>{value}</dd>,
        ])}
    </dl>
  );
}

const Id = ({ of: id, what }: { readonly of: string; readonly what: string }) => (
  <span class="row">
    <code>{id}</code> <Copy text={id} what={what} />
  </span>
);

/** Nothing, if there are no others. */
function SameMeeting({ app, of: one }: { readonly app: string; readonly of: RecordingDetail }) {
  const filter = new URLSearchParams({ meetingSession: one.meetingSession, order: "asc" });
  const {
    data = [],
    hasMore,
    loadMore,
  } = useList<Row>(`${recordingsPath(app)}?${filter}`, {
    limitMax: PAGE_MAX,
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const others = data.filter(({ _id }) => _id !== one._id);
  if (others.length === 0) return null;
  return (
    <Card
      title="Other recordings of this meeting"
      aside={<a href={playbackPage(app, one.meetingSession)}>Play all together</a>}
    >
      <RecordingTable
        app={app}
        rows={others}
        meetingStart={one.meeting?.startTime}
        hasMore={hasMore}
        loadMore={loadMore}
        empty={null}
      />
    </Card>
  );
}
