/** A whole meeting played back: all of its files side by side on one clock, and who spoke when. */
import { useEffect, useMemo } from "preact/hooks";
import { meetingPage, recordingsPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { segment } from "../../api/client.ts";
import type { Meeting, Recording } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { type LiveList, useList, useLive } from "../../live/live.ts";
import { meetingPath } from "../../live/meetings.ts";
import { recordingsPath } from "../../live/recordings.ts";
import { MeetingPlayer } from "../../playback/meeting-player.ts";
import { type Speech, type Timeline, timelineOf } from "../../playback/timeline.ts";
import { exactTime } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { Empty, Notice } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Controls } from "./controls.tsx";
import { Lanes } from "./lanes.tsx";
import { Stage } from "./stage.tsx";
import { Turns } from "./turns.tsx";

/** The most recordings that a call answers at once. */
const PAGE_MAX = 100;
/** A meeting with more is too much for one page: the first are played. */
const TRACKS_MAX = 500;
const TICK_MS = 100;

export function Playback({ at }: { readonly at: PageParameters }) {
  const { app = "", meeting = "" } = at;
  const query = new URLSearchParams({ meetingSession: meeting, order: "asc" });
  const recordings = useWhole<Recording>(`${recordingsPath(app)}?${query}`);
  const speech = useWhole<Speech>(`/apps/${segment(app)}/speech?${new URLSearchParams({ meetingSession: meeting })}`);
  // Its recordings may be kept for longer than the meeting.
  const { data: row } = useLive<Meeting>(meetingPath(app, meeting));
  const isReady = recordings.isWhole && speech.isWhole;
  const rows = recordings.data ?? [];
  const timeline = useMemo(() => timelineOf(rows, speech.data ?? []), [isReady]);
  const name = row?.roomName ?? rows[0]?.roomName;
  return (
    <Page
      title={name ? `Playback of ${inText(name)}` : "Playback"}
      isReady={isReady}
      error={recordings.error ?? speech.error}
      intro={
        <>
          <a href={row ? meetingPage(app, meeting) : recordingsPage(app, { meetingSession: meeting })}>
            {row ? "The meeting" : "Its recordings"}
          </a>
          {rows.length > 0 && <span> · {exactTime(timeline.startMs / 1000)}</span>}
        </>
      }
    >
      {timeline.tracks.length === 0 ? (
        <Card>
          <Empty title="This meeting has no recordings.">
            A file is listed when recording has stopped, or when its person has left, and all of it has arrived.
          </Empty>
        </Card>
      ) : (
        <Player app={app} timeline={timeline} isCut={recordings.hasMore} />
      )}
    </Page>
  );
}

interface Whole<T> extends LiveList<T> {
  readonly isWhole: boolean;
}

/** All pages of a list, up to TRACKS_MAX. */
function useWhole<T extends { readonly _id: string }>(path: string): Whole<T> {
  const list = useList<T>(path, { limitMax: PAGE_MAX, idOf: ({ _id }) => _id });
  const isMore = list.hasMore && (list.data?.length ?? 0) < TRACKS_MAX;
  useEffect(() => {
    if (isMore) void list.loadMore();
  }, [list.data]);
  return { ...list, isWhole: list.data !== undefined && !isMore };
}

interface PlayerProps {
  readonly app: string;
  readonly timeline: Timeline;
  /** There are more recordings than are played. */
  readonly isCut: boolean;
}

function Player({ app, timeline, isCut }: PlayerProps) {
  const player = useMemo(() => {
    const made = new MeetingPlayer(timeline);
    // Before anything is drawn, so that nothing moves.
    made.seek(Number(parameters.peek().get("at")) * 1000 || 0);
    return made;
  }, [timeline]);
  useEffect(() => {
    const timer = setInterval(() => player.tick(), TICK_MS);
    // What is shown has an address: it is that of the last place where someone stopped.
    const unfollow = player.isPlaying.subscribe((isPlaying) => {
      const seconds = Math.floor(player.position.peek() / 1000);
      if (!isPlaying && seconds > 0) setParameters({ at: String(seconds) });
    });
    return () => {
      clearInterval(timer);
      unfollow();
      player.pause();
    };
  }, [player]);
  return (
    <>
      {isCut && <Notice kind="warn">This meeting has more recordings: its first {TRACKS_MAX} are played.</Notice>}
      {mayChange.value ? (
        <Stage app={app} timeline={timeline} player={player} />
      ) : (
        <Notice>
          Only operators with the role admin can play recordings. You see who was recorded, and who spoke when.
        </Notice>
      )}
      <Card>
        <Controls timeline={timeline} player={player} />
        <Lanes timeline={timeline} player={player} />
        <Turns timeline={timeline} player={player} />
      </Card>
    </>
  );
}
