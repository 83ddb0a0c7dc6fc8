/** GET /api/internal/v1/apps/:app/key-traffic: which keys of an application are in use, and how much. */
import { z } from "zod";
import type { Operator } from "../../../access/operators/operator.ts";
import { asAppId } from "../../../base/ids.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import { COUNTED_KEYS_MAX, COUNTED_KEYS_PER_APP, type KeyTraffic } from "../../../telemetry/key-traffic.ts";
import { SERIES_RANGES, SERIES_STEPS_MAX, type Series, type SeriesRange } from "../../../telemetry/series.ts";
import { type Endpoint, endpoint, type Guard } from "../../server/endpoint.ts";
import { unixSeconds } from "../../shared/schemas.ts";
import type { AppIn } from "../app-in.ts";

const REQUEST = "key traffic";
const KEY_ID_MAX_CHARS = 100;
const RANGES = Object.keys(SERIES_RANGES) as [SeriesRange, ...SeriesRange[]];

type Values = readonly (number | null)[];

const count = lazily(() => z.number().min(0));

/** What one node answers; another node's answer is checked with it. Counts are of the whole range. */
const ofNode = lazily(() =>
  z.object({
    /** Unix seconds of the first step. */
    start: z.int(),
    keys: z
      .array(
        z.object({
          keyId: z.string().max(KEY_ID_MAX_CHARS),
          connections: z.int().min(0),
          connects: count(),
          refusals: count(),
          errors: count(),
          messages: z.array(z.number().nullable()).max(SERIES_STEPS_MAX),
        }),
      )
      .max(COUNTED_KEYS_PER_APP),
  }),
);
type OfNode = Infer<typeof ofNode>;

/** What another node has answered; throws if it is not of this form or too long. */
export const decodeKeyTraffic = (value: unknown): OfNode => ofNode().parse(value);

const question = lazily(() => z.object({ app: z.string(), range: z.enum(RANGES) }));

const row = lazily(() =>
  z
    .object({
      keyId: z.string(),
      connections: z.int().describe("Open now"),
      connects: z.int().describe("Accepted connects"),
      refusals: z.int().describe("Refused connects with this key, or with a token of it"),
      messages: z.int().describe("Accepted publishes and sends, over connections and REST"),
      errors: z.int().describe("Error frames"),
      messagesPerSec: z.array(z.number().nullable()).describe("By step, the newest last; null: not known"),
    })
    .meta({ id: "KeyTraffic" }),
);

const response = lazily(() =>
  z.object({
    stepSec: z.int(),
    start: unixSeconds().describe("When the first step begins"),
    data: z.array(row()),
    next: z.null(),
    isComplete: z.boolean().describe("false: a node has not answered in time"),
  }),
);

interface KeyTrafficParts {
  readonly series: Series;
  readonly keys: KeyTraffic;
  readonly nodeRequests: NodeRequests;
  readonly appIn: AppIn;
}

export function keyTrafficEndpoint(guard: Guard<Operator>, parts: KeyTrafficParts): Endpoint {
  const { nodeRequests, appIn } = parts;
  nodeRequests.onRequest(REQUEST, (payload): OfNode => {
    const { app, range } = question().parse(payload);
    return here(parts, app, range);
  });
  return endpoint({
    method: "GET",
    path: "/api/internal/v1/apps/:app/key-traffic",
    tag: "keys",
    summary:
      `Connections, refusals and messages of each key of an application that had any within the range. A node counts ${COUNTED_KEYS_PER_APP} keys ` +
      `of an application separately, ${COUNTED_KEYS_MAX} in all; kept in memory, so a restart begins anew`,
    guard,
    scope: "app",
    query: () => z.object({ range: z.enum(RANGES).describe("Steps of 5 s, 60 s and 300 s.") }),
    response,
    problems: ["not_found"],
    handle: async (call, { query: { range } }): Promise<Infer<typeof response>> => {
      const app = (await appIn(call)).id;
      const { answers, isComplete } = await nodeRequests.gather(REQUEST, { app, range }, decodeKeyTraffic);
      return { ...joined(answers, SERIES_RANGES[range].stepSec), next: null, isComplete };
    },
  });
}

function here({ series, keys }: KeyTrafficParts, app: string, range: SeriesRange): OfNode {
  const { stepSec } = SERIES_RANGES[range];
  const id = asAppId(app);
  const { start } = series.values("connections", range);
  const found = [...keys.ofApp(id)].map(([keyId, { connections }]) => {
    const values = (metric: "connects" | "refusals" | "messages" | "errors"): Values =>
      series.values(metric, range, { app: id, keyId }).values;
    return {
      keyId,
      connections,
      connects: sum(values("connects")) * stepSec,
      refusals: sum(values("refusals")) * stepSec,
      errors: sum(values("errors")) * stepSec,
      messages: [...values("messages")],
    };
  });
  return { start, keys: found };
}

const sum = (values: Values): number => values.reduce<number>((total, value) => total + (value ?? 0), 0);

type Row = Infer<typeof row>;

/** The nodes' answers as one: their steps begin at the same times, but one may have sampled a step that another has not. */
function joined(
  answers: readonly OfNode[],
  stepSec: number,
): Pick<Infer<typeof response>, "stepSec" | "start" | "data"> {
  const start = Math.min(...answers.map((one) => one.start));
  // Bound: the keys of the answers, while this call is answered.
  const byKey = new Map<string, Omit<Row, "messagesPerSec"> & { messagesPerSec: (number | null)[] }>();
  for (const answer of answers)
    for (const { keyId, connections, connects, refusals, errors, messages } of answer.keys) {
      const all = byKey.get(keyId) ?? {
        keyId,
        connections: 0,
        connects: 0,
        refusals: 0,
        messages: 0,
        errors: 0,
        messagesPerSec: [],
      };
      byKey.set(keyId, all);
      all.connections += connections;
      all.connects += connects;
      all.refusals += refusals;
      all.errors += errors;
      all.messages += sum(messages) * stepSec;
      addTo(all.messagesPerSec, messages, Math.round((answer.start - start) / stepSec));
    }
  const data = [...byKey.values()].map(
    ({ connects, refusals, messages, errors, ...others }): Row => ({
      ...others,
      connects: Math.round(connects),
      refusals: Math.round(refusals),
      messages: Math.round(messages),
      errors: Math.round(errors),
    }),
  );
  return { stepSec, start, data };
}

/** Nodes of which the clocks differ by more than the range are not shown in one row. */
function addTo(total: (number | null)[], values: Values, offset: number): void {
  if (offset > SERIES_STEPS_MAX) return;
  while (total.length < offset + values.length) total.push(null);
  for (const [at, value] of values.entries())
    if (value !== null) total[offset + at] = (total[offset + at] ?? 0) + value;
}
