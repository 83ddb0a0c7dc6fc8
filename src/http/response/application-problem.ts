/** The body of an error of the application API. */
import { z } from "zod";
import { lazily } from "../../base/lazily.ts";

export const applicationProblem = lazily(() =>
  z
    .object({
      success: z.literal(false),
      message: z.string(),
      error: z.object({
        code: z.string(),
        details: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
      }),
      requestId: z.string().describe("Also in X-Request-Id, and in the log"),
      offset: z.int().optional().describe("For uploads: how many bytes are held"),
      budget: z.enum(["application", "stay"]).optional().describe("For insufficient_storage: which limit is reached"),
      opensAt: z.int().optional().describe("For room_not_open: when it opens, in Unix seconds"),
      retryAfterSec: z.int().optional().describe("For declined: how many seconds to wait before asking again"),
      over: z
        .enum(["room", "token", "stay"])
        .optional()
        .describe("For room_over: what has expired: the room, the access token, or a person's time in this meeting"),
    })
    .meta({ id: "ApplicationProblem" }),
);
