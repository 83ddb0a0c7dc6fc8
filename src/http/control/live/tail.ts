/** Control plane: the live tail, what happens on all nodes as it happens. */
import { z } from "zod";
import type { Operator } from "../../../access/operators/operator.ts";
import type { Clock } from "../../../base/clock.ts";
import type { AppId } from "../../../base/ids.ts";
import { lazily } from "../../../base/lazily.ts";
import { Problem } from "../../../protocol/codes.ts";
import type { TailNodes } from "../../../realtime/operators/tail-nodes.ts";
import { droppedLine, TAIL_KINDS, type TailKind } from "../../../telemetry/tail/event.ts";
import { EventStream } from "../../response/event-stream.ts";
import { type Endpoint, endpoint, type Guard } from "../../server/endpoint.ts";

/** In the stream, but no filter: what was dropped is always counted. */
const DROPPED = "dropped";

const query = lazily(() =>
  z.strictObject({
    app: z.string().optional().describe("Id or name of an application"),
    channel: z.string().optional().describe("A channel pattern, such as chat/*"),
    peer: z.string().optional().describe("A peer id, or its beginning and *; also finds the receiver of a send"),
    key: z.string().optional().describe("The id of a key"),
    kind: z
      .string()
      .optional()
      .describe(`Separated by commas: ${TAIL_KINDS.join(", ")}. Absent: all`),
  }),
);

const event = lazily(() =>
  z
    .object({
      at: z.int().describe("Unix milliseconds"),
      kind: z.enum([...TAIL_KINDS, DROPPED]),
      app: z.string().optional().describe("The application's id"),
      channel: z.string().optional(),
      peerId: z.string().optional().describe("For a send: the sender"),
      to: z.string().optional().describe("The receiver of a send"),
      change: z.enum(["joined", "left"]).optional().describe("For presence"),
      keyId: z.string().optional(),
      connectionId: z.string().optional(),
      address: z.string().optional().describe("The client's, for connect and refuse"),
      origin: z.string().optional().describe("The origin of the web page that the connect came from, for refuse"),
      nodeId: z.string().optional().describe("Where it happened; absent for dropped"),
      code: z
        .union([z.string(), z.int()])
        .optional()
        .describe("The code of an error or a refusal, or the WebSocket close code"),
      bytes: z.int().optional().describe("The size of the payload"),
      data: z.unknown().optional().describe("The payload, for admins, if the application has consolePayloads"),
      truncated: z.literal(true).optional().describe("data is a text with the beginning of a long payload"),
      count: z.int().optional().describe("For dropped: how many events are missing"),
    })
    .meta({ id: "TailEvent" }),
);

interface TailEndpointParts {
  readonly tails: Pick<TailNodes, "open">;
  /** The id of an application that is named by id or name. */
  readonly appId: (idOrName: string) => AppId | undefined;
  readonly clock: Pick<Clock, "wallMs" | "after">;
}

export const tailEndpoint = (guard: Guard<Operator>, { tails, appId, clock }: TailEndpointParts): Endpoint =>
  endpoint({
    method: "GET",
    path: "/api/internal/v1/tail",
    tag: "operations",
    summary: "Events from all nodes as they happen, as Server-Sent Events with one TailEvent each",
    guard,
    scope: "app",
    query,
    response: event,
    responseType: "text/event-stream",
    problems: ["internal_error"],
    handle: (call, { caller, query: { app, channel, peer, key, kind } }) => {
      const stream = new EventStream();
      const sink = {
        get isReady() {
          return stream.isReady;
        },
        write: (lines: readonly string[], dropped: number) =>
          stream.send(dropped > 0 ? [...lines, droppedLine(clock.wallMs(), dropped)] : lines),
      };
      const filters = {
        app: app === undefined ? undefined : idOf(app, appId),
        channel,
        peer,
        key,
        kinds: kindsOf(kind),
      };
      const opened = tails.open(caller.name, { ...filters, payloads: caller.role === "admin" }, sink, () =>
        stream.end(),
      );
      void opened.nodes.then((count) => stream.comment(`watching ${count} ${count === 1 ? "node" : "nodes"}`));
      return stream.respond({ call, clock, until: caller.revoked, ended: () => opened.close() });
    },
  });

function idOf(app: string, appId: (idOrName: string) => AppId | undefined): AppId {
  const id = appId(app);
  if (id === undefined) throw new Problem("invalid_request", "app: there is no application with this id or name.");
  return id;
}

function kindsOf(text: string | undefined): TailKind[] | undefined {
  if (text === undefined) return undefined;
  const names = text.split(",").filter((name) => name !== DROPPED);
  const kinds = names.map((name) => TAIL_KINDS.find((kind) => kind === name));
  const known = kinds.filter((kind) => kind !== undefined);
  if (known.length === kinds.length) return known;
  throw new Problem(
    "invalid_request",
    `kind: must be one or more of ${TAIL_KINDS.join(", ")}, separated by commas without spaces.`,
  );
}
