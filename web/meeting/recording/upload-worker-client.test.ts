import { expect, test } from "bun:test";
import type { Failure, RunOpening } from "./contract.ts";
import { warnWhilePending } from "./leaving.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import type { WorkerLike } from "./patient-worker.ts";
import { UploadWorkerClient } from "./upload-worker-client.ts";

/** One turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

class FakeWorker implements WorkerLike {
  isEnded = false;
  readonly sent: ToWorker[] = [];
  onmessage: WorkerLike["onmessage"] = null;
  onerror: WorkerLike["onerror"] = null;

  postMessage(message: ToWorker): void {
    this.sent.push(message);
  }

  terminate(): void {
    this.isEnded = true;
  }

  answer(data: FromWorker): void {
    this.onmessage?.({ data } as MessageEvent<FromWorker>);
  }
}

const OPENING: RunOpening = {
  run: "r1",
  roomName: "standup",
  stay: "s1",
  token: "t1",
  source: "camera",
  startedMs: 0,
};

/** `loads`: the script of a worker does, at once. */
function withWorker(hasRuns = false, loads = () => true) {
  const workers: FakeWorker[] = [];
  const makeWorker = (): FakeWorker => {
    const worker = new FakeWorker();
    workers.push(worker);
    if (loads()) queueMicrotask(() => worker.answer({ is: "ready" }));
    return worker;
  };
  let timers: { readonly ms: number; readonly run: () => void }[] = [];
  const after = (ms: number, run: () => void): (() => void) => {
    const timer = { ms, run };
    timers.push(timer);
    return () => {
      timers = timers.filter((other) => other !== timer);
    };
  };
  /** The time of all timers has come. */
  const pass = (): void => {
    const due = timers;
    timers = [];
    for (const { run } of due) run();
  };
  const uploads = new UploadWorkerClient({ makeWorker, after, hasRuns: async () => hasRuns });
  const failures: [string, Failure][] = [];
  uploads.onFailed((...failure) => failures.push(failure));
  return { uploads, workers, failures, pass };
}

test("there is no worker until something is recorded, or an earlier page has left something", async () => {
  const { uploads, workers } = withWorker();
  uploads.setToken("s1", "t2");
  uploads.resume();
  await nextTurn();
  expect(workers.length).toBe(0);
  uploads.open(OPENING);
  uploads.end("r1");
  await nextTurn();
  expect(workers[0]?.sent.map((message) => message.do)).toEqual(["open", "end"]);
  const later = withWorker(true);
  later.uploads.resume();
  await nextTurn();
  expect(later.workers.length).toBe(1);
});

test("the browser asks before the page is closed, as long as a run is open", async () => {
  const { uploads, workers } = withWorker();
  const page = new EventTarget();
  const isAsked = (): boolean => !page.dispatchEvent(new Event("beforeunload", { cancelable: true }));
  const follow = warnWhilePending(uploads, page);
  uploads.open(OPENING);
  follow();
  expect(isAsked()).toBe(true);
  await nextTurn();
  workers[0]?.answer({ is: "pending", pending: { runs: 0, seconds: 0, bytes: 0 }, isInMemory: false });
  follow();
  expect(isAsked()).toBe(false);
});

test("a worker that does not take parts as fast as they come ends the run", async () => {
  const { uploads, workers, failures } = withWorker();
  uploads.open(OPENING);
  await nextTurn();
  const part = new Blob([new Uint8Array(40 * 1024 * 1024)]);
  uploads.part("r1", part, 2000);
  workers[0]?.answer({ is: "queued", bytes: part.size });
  uploads.part("r1", part, 2000);
  expect(failures).toEqual([]);
  uploads.part("r1", part, 2000);
  expect(failures).toEqual([["r1", "queue_full"]]);
});

test.each(["fails to load", "does not load"])(
  "a worker whose script %s is made again, and loses nothing",
  async (how) => {
    let isThere = false;
    const { uploads, workers, failures, pass } = withWorker(true, () => isThere);
    // Before there is anything to record, as after a reload.
    uploads.resume();
    await nextTurn();
    uploads.open(OPENING);
    uploads.part("r1", new Blob(["one"]), 2000);
    if (how === "fails to load") workers[0]?.onerror?.({} as never);
    else pass();
    expect(workers[0]?.isEnded).toBe(true);
    isThere = true;
    pass();
    uploads.part("r1", new Blob(["two"]), 2000);
    await nextTurn();
    uploads.end("r1");
    expect(workers.map(({ sent }) => sent.map((message) => message.do))).toEqual([[], ["open", "part", "part", "end"]]);
    expect(failures).toEqual([]);
  },
);

test("a worker that cannot run, or fails, is said of all its runs", async () => {
  const { uploads, workers, failures } = withWorker();
  uploads.open(OPENING);
  await nextTurn();
  workers[0]?.onerror?.({} as never);
  expect(failures).toEqual([["r1", "broken"]]);
  expect(uploads.pending.value.runs).toBe(0);
  const none = new UploadWorkerClient({
    makeWorker: () => {
      throw new Error("no workers here");
    },
    hasRuns: async () => false,
  });
  none.onFailed((...failure) => failures.push(failure));
  none.open(OPENING);
  await nextTurn();
  expect(failures.length).toBe(2);
});
