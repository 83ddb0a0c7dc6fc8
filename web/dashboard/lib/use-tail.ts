/** The tail in a page: connected by an EventSource while the page is shown. */
import { useEffect, useMemo } from "preact/hooks";
import { ApiError, addressOf, HEADER, query, sessions } from "../api/client.ts";
import { signedOut } from "./session.ts";
import { type Diagnosis, type SourceEvents, Tail, type TailFilter } from "./tail.ts";

const addressFor = ({ kinds, ...filter }: TailFilter): string =>
  addressOf(`/tail${query({ ...filter, kind: kinds?.join(",") })}`);

function open(filter: TailFilter, { opened, line, failed }: SourceEvents): () => void {
  // A tail of no kinds would be one of all of them.
  if (filter.kinds?.length === 0) {
    queueMicrotask(opened);
    return () => undefined;
  }
  const source = new EventSource(addressFor(filter));
  source.onopen = opened;
  source.onmessage = (event: MessageEvent<string>) => line(event.data);
  source.onerror = failed;
  return () => source.close();
}

/** An EventSource shows no status: calls whose answers can be read find out what is wrong. */
async function diagnose(filter: TailFilter): Promise<Diagnosis> {
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
    return response.ok || response.status >= 500 ? undefined : { refused: (await response.json()).message };
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

export function useTail(filter: TailFilter): Tail {
  const tail = useMemo(() => new Tail(parts), []);
  useEffect(() => {
    tail.watch(filter);
    return () => tail.close();
  }, [JSON.stringify(filter)]);
  return tail;
}
