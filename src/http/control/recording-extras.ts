/** Control plane: thumbnails of recordings, and who spoke when in a meeting. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import {
  RECORDING_SESSION_MAX_CHARS,
  RECORDINGS_PAGE_DEFAULT,
  RECORDINGS_PAGE_MAX,
} from "../../recordings/budgets/limits.ts";
import type { RecordingExtras } from "../../recordings/extras/extras.ts";
import type { Recordings } from "../../recordings/recordings.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { speech, spokenFields, THUMBNAIL_ANSWER, thumbnailResponse } from "../shared/recording-extras.ts";
import { idOf } from "../shared/recording-schemas.ts";
import { limit } from "../shared/schemas.ts";
import type { AppIn } from "./app-in.ts";
import { ID_FORM, inControlPlane, NO_CURSOR } from "./application-calls.ts";

const listing = lazily(() =>
  z.object({
    meetingSession: z.string().min(1).max(RECORDING_SESSION_MAX_CHARS).describe("The meeting"),
    limit: limit(RECORDINGS_PAGE_MAX, RECORDINGS_PAGE_DEFAULT),
    after: z.string().regex(ID_FORM, NO_CURSOR).optional().describe("next of the previous page"),
  }),
);

const list = lazily(() =>
  z
    .object({
      data: z.array(speech()),
      next: z.string().nullable().describe("after of the next page; null at the end"),
    })
    .meta({ id: "SpeechList" }),
);

interface RecordingExtraParts {
  readonly appIn: AppIn;
  readonly recordings: Pick<Recordings, "list">;
  readonly extras: RecordingExtras;
}

export function adminRecordingExtraEndpoints(
  { operator, stream }: { readonly operator: Guard<Operator>; readonly stream: Guard<Operator> },
  { appIn, recordings, extras }: RecordingExtraParts,
): Endpoint[] {
  const tag = "recordings";
  return [
    endpoint({
      tag,
      guard: stream,
      scope: "app",
      method: "GET",
      path: "/api/internal/v1/apps/:app/recordings/:id/thumbnail",
      summary: "The thumbnail of a recording; role admin only",
      ...THUMBNAIL_ANSWER,
      problems: ["forbidden", "not_found"],
      handle: async (call, { caller }) => {
        // A picture of the person: as little for the role `read` as the file.
        if (caller.role !== "admin") throw new Problem("forbidden");
        const app = await appIn(call);
        return thumbnailResponse(await inControlPlane(extras.thumbnail(app.id, idOf(call))));
      },
    }),
    endpoint({
      tag,
      guard: operator,
      scope: "app",
      method: "GET",
      path: "/api/internal/v1/apps/:app/speech",
      summary: "Who spoke when in a meeting: its recordings in the order of their completion",
      query: listing,
      response: list,
      problems: ["not_found"],
      handle: async (call, { query: { meetingSession, limit: max, after } }) => {
        const app = await appIn(call);
        // One more than the page has: it says whether there is a next page.
        const request = { filter: { meetingSession }, limit: max + 1, order: "asc", endId: after } as const;
        const { data } = await inControlPlane(recordings.list(app.id, request));
        const page = data.slice(0, max);
        const spoken = await extras.speech(
          app.id,
          page.map(({ id }) => id),
        );
        const next = data.length > max ? (page.at(-1)?.id ?? null) : null;
        return { data: page.map((row) => spokenFields(row, spoken)), next };
      },
    }),
  ];
}
