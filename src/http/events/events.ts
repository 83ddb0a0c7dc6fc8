/**
 * `/v1/events`: a connection without WebSocket. A GET is checked as the connect of a WebSocket is, and answered with Server-Sent Events for as long as
 * the connection lasts; the frames of the client come with POSTs.
 */
import type { EventSession, EventSessionNames } from "../../access/tokens/event-session.ts";
import type { Address } from "../../base/address.ts";
import { Problem, wireCode } from "../../protocol/codes.ts";
import { WEBSOCKET_VERSION } from "../../protocol/limits.ts";
import type { EventForwards } from "../../realtime/event-sockets/event-forwards.ts";
import type { EventSessions } from "../../realtime/event-sockets/event-sessions.ts";
import { POST_MAX_BYTES } from "../../realtime/event-sockets/limits.ts";
import { type EventPost, framesOf, type PostResult } from "../../realtime/event-sockets/posts.ts";
import type { ConnectAttempt, Gateway } from "../../realtime/frames/gateway.ts";
import type { SocketData } from "../../realtime/frames/socket-handlers.ts";
import type { Call } from "../request/call.ts";
import { readBytes } from "../request/input.ts";
import { isQueryTooLong, queryOf } from "../request/query.ts";
import { EVENT_STREAM_HEADERS } from "../response/event-stream.ts";
import { type ErrorBody, type Handler, type RequestPipeline, throwMethodNotAllowed } from "../server/pipeline.ts";

interface EventsParts {
  readonly gateway: Pick<Gateway, "connect">;
  readonly sessions: EventSessions;
  readonly forwards: EventForwards;
  readonly names: Pick<EventSessionNames, "read">;
}

const METHODS = "GET, POST, OPTIONS";
const PREFLIGHT_MAX_AGE_SECONDS = 600;
const NUMBER = /^[1-9]\d{0,14}$/;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const NO_SESSION = "There is no such connection any more. Connect again.";
const TWO_AT_ONCE = "Another POST of this connection is under way. Send this one again.";
const NOT_CONFIRMED = "The node that holds this connection has not answered. Send the same POST again.";
const OTHER_ORIGIN = "A connection takes frames only from the origin that it was opened by.";

/** A refused number comes with the one that is expected. */
const errorBody: ErrorBody = ({ code, message, more }) => ({ error: wireCode(code), message, ...more.fields });

export const eventsHandler = (pipeline: RequestPipeline, parts: EventsParts): Handler =>
  pipeline.handler(pipeline.route("/v1/events", (call) => handle(call, parts), { errorBody }));

function handle(call: Call, parts: EventsParts): Response | Promise<Response> {
  addCorsHeaders(call);
  switch (call.request.method) {
    case "GET":
      return connect(call, parts);
    case "POST":
      return post(call, parts);
    case "OPTIONS":
      return preflight(call);
    default:
      return throwMethodNotAllowed(call, METHODS);
  }
}

/** The gateway refuses pages of origins that a key does not list, and a POST needs the session: no response shows more to a page than it sends itself. */
function addCorsHeaders({ headers }: Call): void {
  headers["Access-Control-Allow-Origin"] = "*";
  headers["Access-Control-Expose-Headers"] = "Retry-After, X-Request-Id";
}

function preflight({ headers }: Call): Response {
  headers["Access-Control-Allow-Methods"] = METHODS;
  headers["Access-Control-Allow-Headers"] = "Content-Type, Last-Event-ID, Cache-Control";
  headers["Access-Control-Max-Age"] = String(PREFLIGHT_MAX_AGE_SECONDS);
  return new Response(null, { status: 204 });
}

async function connect(call: Call, { gateway, sessions }: EventsParts): Promise<Response> {
  const attempt = new EventsAttempt(call, sessions);
  await gateway.connect(attempt);
  if (!attempt.response) throw new Problem("crash");
  return attempt.response;
}

/** Becomes a connection as the handshake of a WebSocket does. */
class EventsAttempt implements ConnectAttempt {
  readonly wantsWebSocket = true;
  readonly version = WEBSOCKET_VERSION;
  readonly query: string;
  response: Response | undefined;

  constructor(
    private readonly call: Call,
    private readonly sessions: EventSessions,
  ) {
    const { url } = call.request;
    const from = url.indexOf("?");
    this.query = from < 0 ? "" : url.slice(from + 1);
  }

  get client(): Address {
    return this.call.client;
  }

  get origin(): string | null {
    return this.call.request.headers.get("origin");
  }

  upgrade(data: SocketData): boolean {
    const { call, sessions, origin } = this;
    const { signal } = call.request;
    // The time between two events has no limit of its own: liveness is realtime's.
    call.suspendIdleTimeout();
    const gone = (): void => socket.gone();
    const socket = sessions.open({
      origin,
      data,
      ended: () => {
        signal.removeEventListener("abort", gone);
        // What is left must be read within the usual time, and then the connection may serve further requests.
        call.restoreIdleTimeout();
      },
    });
    if (signal.aborted) socket.gone();
    else if (socket.isOpen) signal.addEventListener("abort", gone);
    this.response = new Response(socket.body, { headers: EVENT_STREAM_HEADERS });
    return true;
  }
}

async function post(call: Call, parts: EventsParts): Promise<Response> {
  const { session, n, isBye } = parametersOf(call, parts);
  const read = async (): Promise<EventPost> => ({ n, isBye, ...originOf(call), body: await readBody(call) });
  const isHere = parts.forwards.isHere(session);
  answerTo(isHere ? await takeHere(call, session, read, parts) : await takeThere(session, read, isBye, parts));
  call.isAuthenticated = true;
  return new Response(null, { status: 204 });
}

async function takeHere(
  call: Call,
  session: EventSession,
  read: () => Promise<EventPost>,
  { sessions }: EventsParts,
): Promise<PostResult> {
  if (!sessions.has(session)) return { kind: "gone" };
  // From here on its own rate applies, not that of the address.
  call.isAuthenticated = true;
  if (!sessions.beginReading(session)) {
    sessions.charge(session);
    throw new Problem("internal_error", TWO_AT_ONCE, 1);
  }
  try {
    return sessions.take(session, await read());
  } catch (error) {
    if (error instanceof Problem) sessions.charge(session);
    throw error;
  } finally {
    sessions.endReading(session);
  }
}

/** Frames that are not in order are refused here already: the other node need not see them. */
async function takeThere(
  session: EventSession,
  read: () => Promise<EventPost>,
  isBye: boolean,
  { forwards }: EventsParts,
): Promise<PostResult> {
  if (!(await forwards.isThere(session))) return { kind: "gone" };
  return forwards.take(session, async () => {
    const received = await read();
    framesOf(received.body, isBye);
    return received;
  });
}

/** Throws unless the frames are taken. */
function answerTo(result: PostResult): void {
  switch (result.kind) {
    case "taken":
      return;
    case "gone":
      throw new Problem("not_found", NO_SESSION);
    case "origin":
      throw new Problem("origin_not_allowed", OTHER_ORIGIN);
    case "gap": {
      const { expected } = result;
      const message = `The next POST of this connection is number ${expected}.`;
      throw new Problem("conflict", message, undefined, { fields: { expected } });
    }
    case "busy":
      throw new Problem("internal_error", NOT_CONFIRMED, 1);
  }
}

interface Parameters {
  readonly session: EventSession;
  readonly n: number;
  readonly isBye: boolean;
}

/** A session that no node has made gets the same answer as one that has ended. */
function parametersOf(call: Call, { names }: EventsParts): Parameters {
  if (isQueryTooLong(call.request)) throw new Problem("not_found", NO_SESSION);
  const query = queryOf(call.request);
  const [text = "", ...others] = query.getAll("session");
  const session = others.length === 0 ? names.read(text) : undefined;
  if (!session) throw new Problem("not_found", NO_SESSION);
  const n = query.get("n") ?? "";
  if (!NUMBER.test(n)) throw new Problem("invalid_request", "n is the number of the POST: 1, 2, 3 and so on.");
  return { session, n: Number(n), isBye: query.get("bye") === "1" };
}

async function readBody({ request }: Call): Promise<string> {
  const bytes = await readBytes(request, POST_MAX_BYTES);
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Problem("invalid_request", "The body is not valid UTF-8.");
  }
}

function originOf(call: Call): Pick<EventPost, "origin" | "isSameOrigin"> {
  const { headers } = call.request;
  const origin = headers.get("origin");
  // Pages cannot set this header themselves. Older browsers do not send it: there the host says the same, unless a proxy has changed it.
  const site = headers.get("sec-fetch-site");
  return { origin, isSameOrigin: site === null ? origin === call.origin : site === "same-origin" };
}
