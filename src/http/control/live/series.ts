/** GET /api/internal/v1/series: how the traffic of all nodes has developed. */
import { z } from "zod";
import type { Keyring } from "../../../access/keys/keyring.ts";
import type { Operator } from "../../../access/operators/operator.ts";
import { type AppId, asAppId } from "../../../base/ids.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import { Problem } from "../../../protocol/codes.ts";
import { COUNTED_KEYS_MAX, COUNTED_KEYS_PER_APP } from "../../../telemetry/key-traffic.ts";
import { SERIES_RANGES, SERIES_STEPS_MAX, type Series, type SeriesRange } from "../../../telemetry/series.ts";
import { SERIES_METRICS, type SeriesMetric } from "../../../telemetry/series-tier.ts";
import { TRAFFIC_APPS_MAX } from "../../../telemetry/traffic.ts";
import { type Endpoint, endpoint, type Guard } from "../../server/endpoint.ts";
import { unixSeconds } from "../../shared/schemas.ts";

const RANGES = Object.keys(SERIES_RANGES) as [SeriesRange, ...SeriesRange[]];
const REASONS_MAX = 100;
const NAME_MAX_CHARS = 200;

/** What is counted per key. */
const OF_KEYS: readonly SeriesMetric[] = ["connections", "connects", "refusals", "messages", "errors"];

const UNITS: Readonly<Record<SeriesMetric, string>> = {
  connections: "connections, the most at one time in the step",
  connects: "per second",
  refusals: "per second",
  messages: "per second",
  deliveries: "per second",
  bytesOut: "bytes per second",
  p50Ms: "ms",
  p99Ms: "ms",
  errors: "per second",
};

const query = lazily(() =>
  z.object({
    metric: z
      .enum(SERIES_METRICS)
      .describe(
        "connections: open ones. connects, refusals: made and refused. messages: publishes and sends that were accepted. deliveries, " +
          "bytesOut: messages handed to sockets, and their bytes. p50Ms, p99Ms: from a publish frame's arrival to its fan-out's return; with history, to its ack, the store included; " +
          "half and 99 % of the frames took at most this long. errors: error frames.",
      ),
    app: z
      .string()
      .max(NAME_MAX_CHARS)
      .describe(
        `The id or name of an application; absent: all. A node counts ${TRAFFIC_APPS_MAX} applications separately, the others only in the total.`,
      )
      .optional(),
    key: z
      .string()
      .max(NAME_MAX_CHARS)
      .describe(
        `The id of a key: only what came with it, or with tokens of it. For ${OF_KEYS.join(", ")}. A node counts ${COUNTED_KEYS_PER_APP} keys of an ` +
          `application separately, ${COUNTED_KEYS_MAX} in all.`,
      )
      .optional(),
    credentials: z
      .enum(["unknown"])
      .describe(
        "Only of refusals: those that belong to no application, because the key or token of the connect is not known.",
      )
      .optional(),
    range: z.enum(RANGES).describe("Steps of 5 s, 60 s and 300 s."),
  }),
);

/** What nodes ask each other. 0.1.0 knows the request for a whole application only, and would answer that. */
const APPLICATION = "series";
const PART = "series of a part";

const values = lazily(() => z.array(z.number().nullable()).max(SERIES_STEPS_MAX));

/** What one node answers; another node's answer is checked with it. */
const ofNode = lazily(() =>
  z.object({
    nodeId: z.string().max(NAME_MAX_CHARS),
    start: unixSeconds().describe("When the first step begins"),
    values: values().describe(
      "One per step, the newest last. null: not known, because the node was not running or took no sample, the application has no " +
        "counters of its own on that node, or no message was published (p50Ms, p99Ms).",
    ),
    byReason: z
      .record(z.string().max(NAME_MAX_CHARS), values())
      .refine((reasons) => Object.keys(reasons).length <= REASONS_MAX, "has too many reasons")
      .describe("Only of refusals: the same by error code, over_concurrent, or key_revoked.")
      .optional(),
  }),
);

const response = lazily(() =>
  z
    .object({
      metric: z.enum(SERIES_METRICS),
      unit: z.string().describe("What the values are, for example: per second"),
      stepSec: z.int(),
      nodes: z.array(ofNode()),
      isComplete: z.boolean().describe("false: a node has not answered in time"),
    })
    .meta({ id: "Series" }),
);

/** What another node has answered; throws if it is not of this form or too long. */
export const decodeNodeSeries = (value: unknown): Infer<typeof ofNode> => ofNode().parse(value);

type Asked = Infer<typeof query>;

interface SeriesParts {
  readonly nodeId: string;
  readonly series: Series;
  readonly nodeRequests: NodeRequests;
  readonly keyring: Keyring;
}

export function seriesEndpoints(guard: Guard<Operator>, parts: SeriesParts): Endpoint[] {
  const { nodeId, series, nodeRequests, keyring } = parts;
  const here = (payload: unknown): Infer<typeof ofNode> => {
    const { metric, range, app, key, credentials } = query().parse(payload);
    const id = app === undefined ? undefined : asAppId(app);
    const subject = { app: id, keyId: key, isUnknown: credentials === "unknown" };
    return { nodeId, ...series.values(metric, range, subject) } as Infer<typeof ofNode>;
  };
  nodeRequests.onRequest(APPLICATION, here);
  nodeRequests.onRequest(PART, here);
  const appOf = (idOrName: string): AppId => {
    const app = keyring.app(idOrName) ?? keyring.appNamed(idOrName);
    if (!app) throw new Problem("not_found", "app: there is no application with this id or name");
    return app.id;
  };
  const appOfKey = (keyId: string): AppId => {
    const app = keyring.key(keyId)?.app ?? keyring.revoked.appOf(keyId);
    if (app === undefined) throw new Problem("not_found", "key: there is no key with this id");
    return app;
  };
  const subjectOf = ({ metric, app, key, credentials }: Asked): { readonly app?: AppId; readonly name: string } => {
    if (credentials !== undefined && (metric !== "refusals" || app !== undefined || key !== undefined))
      throw new Problem("invalid_request", "credentials: only with metric=refusals, and without app and key");
    if (key !== undefined) {
      if (!OF_KEYS.includes(metric)) throw new Problem("invalid_request", `key: ${metric} is not counted per key`);
      const owner = appOfKey(key);
      if (app !== undefined && appOf(app) !== owner)
        throw new Problem("not_found", "key: the application has no key with this id");
      return { app: owner, name: PART };
    }
    if (app !== undefined) return { app: appOf(app), name: APPLICATION };
    return { name: credentials === undefined ? APPLICATION : PART };
  };
  return [
    endpoint({
      method: "GET",
      path: "/api/internal/v1/series",
      tag: "operations",
      summary: "Connections, messages and errors over time, per node; kept in memory, so a restart leaves a gap",
      guard,
      scope: "app",
      query,
      response,
      problems: ["not_found"],
      handle: async (_call, { query: asked }): Promise<Infer<typeof response>> => {
        const { metric, range, key, credentials } = asked;
        const { app, name } = subjectOf(asked);
        const { answers, isComplete } = await nodeRequests.gather(
          name,
          { metric, range, app, key, credentials },
          decodeNodeSeries,
        );
        const { stepSec } = SERIES_RANGES[range];
        return { metric, unit: UNITS[metric], stepSec, nodes: [...answers], isComplete };
      },
    }),
  ];
}
