/** The worker of the page that uploads: what a browser has, joined with the desk. Its bundle is a file of its own. */
import { send } from "./calls.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { openDisk } from "./opfs.ts";
import { UploadDesk } from "./upload-desk.ts";

interface WorkerScope {
  postMessage(message: FromWorker): void;
  addEventListener(type: "message", listener: (event: MessageEvent<ToWorker>) => void): void;
  addEventListener(type: "online", listener: () => void): void;
}

/** A tab that is killed leaves its runs to the others that are open. */
const LOOK_EVERY_MS = 30_000;

const scope = globalThis as unknown as WorkerScope;
const waiting = new Set<() => void>();

/** Ends earlier when the browser says that the network is back. */
const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      waiting.delete(done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    waiting.add(done);
  });

async function start(): Promise<UploadDesk> {
  const desk = new UploadDesk({
    origin: location.origin,
    disk: await openDisk(),
    send,
    alone: async (name, work) => {
      await navigator.locks.request(`parley-recording-${name}`, work);
    },
    wait,
    nowMs: Date.now,
    report: (message) => scope.postMessage(message),
  });
  await desk.adopt();
  setInterval(() => void desk.adopt(), LOOK_EVERY_MS);
  return desk;
}

const started = start();
/** Messages are handled in their order: a part must not overtake the one before it. */
let last: Promise<unknown> = started;
scope.addEventListener("message", ({ data }) => {
  last = last.then(async () => (await started).received(data)).catch((error: unknown) => reportError(error));
});
scope.addEventListener("online", () => {
  for (const done of [...waiting]) done();
});
scope.postMessage({ is: "ready" });
