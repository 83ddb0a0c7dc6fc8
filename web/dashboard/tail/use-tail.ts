/** The tail in a page: connected by an EventSource while the page is mounted. A tab in the background keeps its connection and its place. */
import { useEffect, useMemo } from "preact/hooks";
import { ApiError, addressOf, HEADER, query, sessions } from "../api/client.ts";
import { signedOut } from "../api/session.ts";
import { TAIL_PLACES, takePlace } from "./places.ts";
import { type Diagnosis, type SourceEvents, TAIL_KINDS, Tail, type TailFilter } from "./tail.ts";

const addressFor = ({ kinds, ...filter }: TailFilter): string =>
  addressOf(`/tail${query({ ...filter, kind: kinds?.join(",") })}`);

function open(filter: TailFilter, { opened, line, failed }: SourceEvents): () => void {
  // A tail of no kinds would be one of all of them.
  if (filter.kinds?.length === 0) {
    queueMicrotask(opened);
    return () => undefined;
  }
  let source: EventSource | undefined;
  let release: (() => void) | undefined;
  let isClosed = false;
  void freePlace().then((found) => {
    isCrowded = !found;
    if (!found) return failed();
    if (isClosed) return found();
    release = found;
    source = new EventSource(addressFor(filter));
    source.onopen = opened;
    source.onmessage = (event: MessageEvent<string>) => line(event.data);
    source.onerror = failed;
  });
  return () => {
    isClosed = true;
    source?.close();
    release?.();
  };
}

/** All places for tails are taken by tabs of this browser. */
let isCrowded = false;
const CROWDED = `This browser already shows live events in ${TAIL_PLACES} tabs, and needs its other connections for pages. Close one of those tabs, then reload this one.`;

function freePlace(): Promise<(() => void) | undefined> {
  const [loaded] = performance.getEntriesByType("navigation");
  const isShared = loaded instanceof PerformanceNavigationTiming && /^h[23]/.test(loaded.nextHopProtocol);
  // HTTP/2 carries everything over one connection. Old browsers have no locks.
  if (isShared || !navigator.locks) return Promise.resolve(() => undefined);
  return takePlace(navigator.locks, (ms) => new Promise((resolve) => setTimeout(resolve, ms)));
}

/** An EventSource shows no status: calls whose answers can be read find out what is wrong. */
async function diagnose(filter: TailFilter): Promise<Diagnosis> {
  if (isCrowded) return { refused: CROWDED };
  try {
    await sessions.current();
    return await refusalOf(filter);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) return undefined;
    signedOut("Your session has ended. Sign in again.");
    return { ended: true };
  }
}

async function refusalOf(filter: TailFilter): Promise<Diagnosis> {
  const controller = new AbortController();
  try {
    const response = await fetch(addressFor(filter), { headers: HEADER, signal: controller.signal });
    // A fault of the service may be over soon, unlike a refusal.
    if (response.ok || response.status >= 500) return undefined;
    const { message } = await response.json();
    return { refused: response.status === 400 ? `${message} Change the filter.` : message };
  } catch {
    return undefined;
  } finally {
    controller.abort();
  }
}

/** The page changes no more often than this: no one reads faster, and the browser has other work too. */
const FRAMES_APART_MS = 100;
let lastFrame = 0;

function nextFrame(run: () => void): void {
  const draw = (): void => {
    lastFrame = performance.now();
    run();
  };
  const wait = lastFrame + FRAMES_APART_MS - performance.now();
  if (wait <= 0) requestAnimationFrame(draw);
  else setTimeout(() => requestAnimationFrame(draw), wait);
}

const parts = {
  open,
  diagnose,
  nextFrame,
  after: (ms: number, run: () => void) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  nowMs: () => Date.now(),
};

const NO_KINDS: readonly string[] = [];

export const newTail = (): Tail => new Tail(parts);

/** `hidden`: kinds that are only counted. `given`: a tail that outlives the page. */
export function useTail(filter: TailFilter, hidden = NO_KINDS, given?: Tail): Tail {
  const tail = useMemo(() => given ?? newTail(), []);
  // Before the other clean-ups: closed, it would not know any more whether it was live.
  useEffect(() => () => tail.leave(), []);
  useEffect(() => tail.hide(hidden), [hidden.join()]);
  const shown = TAIL_KINDS.filter((kind) => !hidden.includes(kind));
  const isNarrow = hidden.length > 0 && (tail.isNarrow.value || shown.length === 0);
  const asked = isNarrow ? { ...filter, kinds: shown } : filter;
  useEffect(() => {
    tail.watch(asked);
    return () => tail.close();
  }, [JSON.stringify(asked)]);
  return tail;
}
