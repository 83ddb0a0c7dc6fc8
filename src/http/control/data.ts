/** Control plane: what the service keeps, how much of it there is, how long it stays and where that is changed. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { DataNow } from "../../durable/report/report.ts";
import type { DataReports } from "../../durable/report/reports.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { toSeconds, unixSeconds } from "../shared/schemas.ts";
import type { AppIn } from "./app-in.ts";

const placeId = lazily(() => z.enum(["store", "histories", "recordings", "files"]));
const isAbout = lazily(() => z.boolean().describe("The numbers are estimates, or the least that there is"));

const kept = lazily(() =>
  z
    .object({
      id: z.string(),
      title: z.string(),
      holds: z.string(),
      kept: z.string().describe("How long"),
      limit: z.string().describe("How much"),
      counted: z.string().nullable().describe("What is counted, singular or plural as the number is; null: nothing is"),
      now: z
        .object({
          count: z.int().nullable().describe("null: not counted, or not known at the moment"),
          bytes: z.int().nullable().describe("null: not known by itself"),
          isAbout: isAbout(),
        })
        .describe("How much there is, at most a few seconds old"),
      places: z.array(placeId()).describe("Where it is stored: ids of places"),
      change: z
        .array(
          z.object({
            command: z.string().optional(),
            setting: z.string().optional().describe("As in the environment"),
            page: z.string().optional().describe("The page of the dashboard"),
          }),
        )
        .describe("How its limits are changed; empty: they are fixed"),
      page: z.string().nullable().describe("The page of the dashboard where it is seen"),
      backup: z.string().describe("Whether backups include it"),
      deletion: z.string().describe("What happens to it when its application is deleted"),
    })
    .meta({ id: "KeptData" }),
);

const response = lazily(() =>
  z
    .object({
      measured: unixSeconds(),
      places: z.array(
        z.object({
          id: placeId(),
          where: z.string().describe("A path of the node that answers, a database or a bucket; without credentials"),
          bytes: z.int().nullable().describe("On disk, of all applications; null: not known, or not asked"),
          isAbout: isAbout(),
        }),
      ),
      data: z.array(kept()),
    })
    .meta({ id: "WhatIsKept" }),
);

interface DataParts {
  readonly reports: DataReports;
  readonly appIn: AppIn;
}

const shown = ({ measured, places, data }: DataNow): Infer<typeof response> => ({
  measured: toSeconds(measured),
  places: places.map((place) => ({ ...place })),
  data: data.map((one) => ({ ...one, now: { ...one.now }, places: [...one.places], change: [...one.change] })),
});

export function dataEndpoints(guard: Guard<Operator>, { reports, appIn }: DataParts): Endpoint[] {
  const base = { tag: "operations", guard, method: "GET", response } as const;
  return [
    endpoint({
      ...base,
      path: "/api/internal/v1/data",
      scope: "service",
      summary: "What data is stored, how much, for how long, and where to change that",
      handle: async () => shown(await reports.ofService()),
    }),
    endpoint({
      ...base,
      path: "/api/internal/v1/apps/:app/data",
      scope: "app",
      summary: "What data of one application is stored, how much, for how long, and where to change that",
      problems: ["not_found"],
      handle: async (call) => shown(await reports.ofApp(await appIn(call))),
    }),
  ];
}
