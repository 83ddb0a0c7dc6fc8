/** Whether a meeting is recorded now, and the button that starts or stops it. */
import type { Meeting, MeetingRecording } from "../../api/room-types.ts";
import { setRecording } from "../../live/meetings.ts";
import { exactTime } from "../../text/format.ts";
import { people } from "../../text/room-text.ts";
import { confirm } from "../../ui/dialog.tsx";
import { toast } from "../../ui/notice.tsx";
import { Badge } from "../../ui/values.tsx";

interface Recorded {
  readonly recording?: MeetingRecording | undefined;
}

/** Empty: the room's recordRoom, the application's backend or an operator. */
export const starterOf = (by: string): string => (by === "" ? "the service" : by);

interface MarkProps {
  readonly of: Recorded;
  /** In lists, beside a name. */
  readonly isShort?: boolean;
}

export const RecordingMark = ({ of: { recording }, isShort }: MarkProps) =>
  recording ? (
    <span title={`Recording since ${exactTime(recording.since)}, started by ${starterOf(recording.by)}`}>
      <Badge kind="bad">{isShort ? "rec" : "recording"}</Badge>
    </span>
  ) : null;

interface RecordButtonProps {
  readonly app: string;
  readonly meeting: Meeting;
  readonly inside: number;
  readonly reload: () => Promise<void>;
}

export function RecordButton({ app, meeting, inside, reload }: RecordButtonProps) {
  const { room, roomName, recording } = meeting;
  const ask = (): void =>
    confirm({
      title: `${recording ? "Stop recording" : "Record"} the meeting in ${roomName}?`,
      text: recording
        ? "Pages stop recording and upload what is left. Each file is listed once all of it has arrived."
        : `${people(inside)} inside: everyone sees at once that the meeting is being recorded, and is asked to agree or leave. People who join later are asked first.`,
      submit: recording ? "Stop recording" : "Start recording",
      run: async () => {
        await setRecording(app, room, !recording);
        toast(recording ? "Recording has stopped." : "Recording has started.");
        await reload();
      },
    });
  return (
    <button type="button" onClick={ask}>
      {recording ? "Stop recording …" : "Record …"}
    </button>
  );
}
