/** Shapes of meetings and their participants, which the application API and the control plane share. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { MeetingRow, StayRow } from "../../store/contract/meetings.ts";
import { toSeconds, unixSeconds } from "./schemas.ts";

export const participant = lazily(() =>
  z
    .object({
      _id: z.string().describe("The participantSession"),
      name: z.string(),
      externalUserId: z.string().optional(),
      isAdmin: z.boolean(),
      isGuest: z.boolean().describe("No access token vouches for the name"),
      startTime: unixSeconds(),
      endTime: unixSeconds().optional().describe("Absent while it is inside"),
      endReason: z.enum(["left", "lost", "time", "ended", "removed"]).optional(),
    })
    .meta({ id: "Participant" }),
);

export const recordingState = lazily(() =>
  z
    .object({
      by: z
        .string()
        .describe("Who started it; empty if the room records every meeting, or the application's server started it"),
      since: unixSeconds(),
    })
    .meta({ id: "RecordingState" }),
);

export const meeting = lazily(() =>
  z
    .object({
      _id: z.string().describe("The meetingSession"),
      app: z.string(),
      room: z.string(),
      roomName: z.string().describe("As it was when the meeting began"),
      active: z.boolean(),
      locked: z.boolean(),
      startTime: unixSeconds(),
      endTime: unixSeconds().optional().describe("Absent while the meeting goes on"),
      recording: recordingState().optional().describe("Absent while it is not being recorded"),
    })
    .meta({ id: "Meeting" }),
);

export const meetingFields = ({
  id,
  app,
  room,
  roomName,
  began,
  ended,
  isLocked,
  recording,
}: MeetingRow): Infer<typeof meeting> => ({
  _id: id,
  app,
  room,
  roomName,
  active: ended === null,
  locked: isLocked && ended === null,
  startTime: toSeconds(began),
  ...(ended !== null && { endTime: toSeconds(ended) }),
  ...(recording && { recording: { by: recording.by, since: toSeconds(recording.since) } }),
});

export const participantFields = (stay: StayRow): Infer<typeof participant> => ({
  _id: stay.id,
  name: stay.name,
  ...(stay.externalUserId !== null && { externalUserId: stay.externalUserId }),
  isAdmin: stay.isAdmin,
  isGuest: stay.isGuest,
  startTime: toSeconds(stay.began),
  ...(stay.ended !== null && { endTime: toSeconds(stay.ended) }),
  ...(stay.why !== null && { endReason: stay.why }),
});
