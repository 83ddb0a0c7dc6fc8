import { expect, test } from "bun:test";
import type { Pending, RunOpening } from "./contract.ts";
import type { FromWorker } from "./messages.ts";
import { Budget } from "./queue.ts";
import { FakeDisk } from "./testing/fake-disk.ts";
import { FakeService, refused } from "./testing/fake-service.ts";
import { UploadDesk } from "./upload-desk.ts";

/** One turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

const DAY_MS = 24 * 3_600_000;

/** One page after the other, on the same disk, with the same service. */
class Pages {
  readonly disk = new FakeDisk();
  readonly service = new FakeService();
  readonly waits: number[] = [];
  readonly reports: FromWorker[] = [];
  nowMs = 1_000_000;
  #lives: { isOver: boolean }[] = [];
  /** Held by a page that lives. */
  readonly #taken = new Map<string, Promise<void>>();

  desk(more: { readonly withoutDisk?: true; readonly budget?: Budget } = {}): UploadDesk {
    const life = { isOver: false };
    this.#lives.push(life);
    const never = new Promise<never>(() => undefined);
    return new UploadDesk({
      origin: "http://app.test",
      disk: more.withoutDisk ? undefined : this.disk,
      send: (url, init) => (life.isOver ? never : this.service.send(url, init)),
      alone: async (name, work) => {
        await this.#taken.get(name);
        const done = work();
        this.#taken.set(name, done);
        await done;
      },
      wait: async (ms) => {
        this.waits.push(ms);
        await (life.isOver ? never : nextTurn());
      },
      nowMs: () => this.nowMs,
      report: (message) => this.reports.push(message),
      random: () => 1,
      ...(more.budget && { budget: more.budget }),
    });
  }

  /** The page is gone: its locks are free, and nothing that it awaits goes on. */
  killAll(): void {
    for (const life of this.#lives) life.isOver = true;
    this.#taken.clear();
  }

  get failures(): readonly string[] {
    return this.reports.flatMap((one) => (one.is === "failed" ? [`${one.run} ${one.why}`] : []));
  }

  pending(): Pending | undefined {
    return this.reports.findLast((one) => one.is === "pending")?.pending;
  }
}

const opening = (run: string, more: Partial<RunOpening> = {}): RunOpening => ({
  run,
  roomName: "stand up",
  stay: "s1",
  token: "t1",
  source: "camera",
  startedMs: 1_000_000,
  ...more,
});

const part = (desk: UploadDesk, run: string, text: string): Promise<void> =>
  desk.received({ do: "part", run, data: new Blob([text]), durationMs: 2000 });

const HAPPENS_WITHIN_MS = 10_000;

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + HAPPENS_WITHIN_MS; !(await isSo()); await nextTurn())
    if (performance.now() > endMs) throw new Error("it did not happen");
}

/** Longer than anything takes here: by then a page that does what it must not has done it. */
const A_WHILE_MS = 20;

test("parts are uploaded in order, and the run is completed after the last", async () => {
  const pages = new Pages();
  const { service } = pages;
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1") });
  for (const text of ["one ", "two ", "three"]) await part(desk, "r1", text);
  await until(() => service.textOf("u1") === "one two three");
  expect(service.uploads.get("u1")?.isComplete).toBe(false);
  await desk.received({ do: "end", run: "r1" });
  await until(() => service.uploads.get("u1")?.isComplete === true);
  await until(() => pages.disk.usedBytes === 0);
  expect(await pages.disk.runs()).toEqual([]);
  expect(service.calls[0]).toBe("POST /api/v1/room/stand%20up/recording");
  await until(() => pages.pending()?.runs === 0);
});

test("without a network parts wait; after it, nothing is missing or doubled", async () => {
  const pages = new Pages();
  const { service } = pages;
  let isAway = true;
  let lost = 0;
  service.fault = (call) => {
    if (isAway) return { answer: { status: 0 } };
    // The bytes arrive, and the answer is lost.
    return call.startsWith("PUT") && lost++ === 0 ? { answer: { status: 0 }, after: true } : undefined;
  };
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1") });
  await part(desk, "r1", "while away ");
  await until(() => pages.waits.length > 7);
  expect(pages.waits.slice(0, 7)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 20_000]);
  await until(() => pages.pending()?.bytes === 11);
  expect(pages.pending()).toMatchObject({ runs: 1, bytes: 11 });
  pages.nowMs += 90_000;
  isAway = false;
  await part(desk, "r1", "and back");
  await desk.received({ do: "end", run: "r1" });
  await until(() => service.uploads.get("u1")?.isComplete === true);
  expect(service.textOf("u1")).toBe("while away and back");
  expect(service.uploads.get("u1")?.startedMsAgo).toBe(90_000);
});

const thumbnail = (desk: UploadDesk, text: string): Promise<void> =>
  desk.received({ do: "thumbnail", run: "r1", jpeg: new Blob([text]) });
const speech = (desk: UploadDesk, to: number): Promise<void> =>
  desk.received({ do: "speech", run: "r1", intervals: [[0, to]] });

test("a thumbnail and what was spoken go beside the bytes, the newest before the end, and none is sent twice", async () => {
  const pages = new Pages();
  const { service } = pages;
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1") });
  await thumbnail(desk, "jpeg");
  await part(desk, "r1", "one ");
  await until(() => service.beside.length === 1);
  await speech(desk, 100);
  await until(() => service.beside.length === 2);
  await part(desk, "r1", "two");
  await speech(desk, 200);
  await speech(desk, 300);
  await desk.received({ do: "end", run: "r1" });
  await until(() => service.uploads.get("u1")?.isComplete === true);
  expect(service.beside.slice(0, 2)).toEqual(["u1 thumbnail jpeg", 'u1 speech {"intervals":[[0,100]]}']);
  expect(service.beside.at(-1)).toBe('u1 speech {"intervals":[[0,300]]}');
  expect(service.textOf("u1")).toBe("one two");
});

test("a service or proxy that does not take a thumbnail still gets all bytes, and the end", async () => {
  for (const status of [404, 502]) {
    const pages = new Pages();
    const { service } = pages;
    service.fault = (call) => (call.endsWith("/thumbnail") ? { answer: { status } } : undefined);
    const desk = pages.desk();
    await desk.received({ do: "open", opening: opening("r1") });
    await thumbnail(desk, "jpeg");
    await part(desk, "r1", "one ");
    await speech(desk, 100);
    await part(desk, "r1", "two");
    await desk.received({ do: "end", run: "r1" });
    await until(() => service.uploads.get("u1")?.isComplete === true);
    expect(service.textOf("u1")).toBe("one two");
    expect(service.beside).toEqual(['u1 speech {"intervals":[[0,100]]}']);
    expect(service.calls.filter((call) => call.endsWith("/thumbnail")).length).toBe(status === 404 ? 1 : 5);
    expect(pages.failures).toEqual([]);
  }
});

test("after an outage, an upload that has begun is gone on with before another one begins", async () => {
  const pages = new Pages();
  const { service } = pages;
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1") });
  await part(desk, "r1", "one ");
  await until(() => service.textOf("u1") === "one ");
  let isAway = true;
  let refusals = 0;
  // It is back for everything but the first upload, for a while.
  service.fault = (call) =>
    isAway || (call.startsWith("PUT") && refusals++ < 5) ? { answer: { status: isAway ? 0 : 503 } } : undefined;
  await part(desk, "r1", "two");
  await until(() => pages.waits.length > 0);
  await desk.received({ do: "open", opening: opening("r2") });
  await part(desk, "r2", "next");
  isAway = false;
  service.calls.length = 0;
  await until(() => service.textOf("u2") === "next");
  expect(service.textOf("u1")).toBe("one two");
  expect(service.calls.findIndex((call) => call.startsWith("POST"))).toBeGreaterThanOrEqual(5);
});

test("busy uploads and too many of them are tried again", async () => {
  const pages = new Pages();
  const { service } = pages;
  const answers = [
    refused(409, "too_many_uploads"),
    undefined,
    refused(423),
    refused(503),
    refused(507),
    undefined,
    refused(429),
  ];
  service.fault = () => {
    const answer = answers.shift();
    return answer && { answer };
  };
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1") });
  await part(desk, "r1", "all");
  await desk.received({ do: "end", run: "r1" });
  await until(() => service.uploads.get("u1")?.isComplete === true);
  expect(service.textOf("u1")).toBe("all");
  expect(pages.failures).toEqual([]);
});

test("a service that asks to wait is not asked earlier, and nothing is missing", async () => {
  const pages = new Pages();
  const { service } = pages;
  const answers = [undefined, { ...refused(429, "rate_limited"), retryAfterMs: 7000 }];
  service.fault = () => {
    const answer = answers.shift();
    return answer && { answer };
  };
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1") });
  await part(desk, "r1", "all");
  await desk.received({ do: "end", run: "r1" });
  await until(() => service.uploads.get("u1")?.isComplete === true);
  expect(pages.waits).toEqual([7000]);
  expect(service.textOf("u1")).toBe("all");
});

test("an upload that the service has completed meanwhile is over: nothing is sent to it again and again", async () => {
  const pages = new Pages();
  const { service } = pages;
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1") });
  await part(desk, "r1", "in time");
  await until(() => service.textOf("u1") === "in time");
  for (const upload of service.uploads.values()) upload.isComplete = true;
  await part(desk, "r1", "too late");
  await until(() => pages.pending()?.runs === 0);
  expect(service.calls.filter((call) => call.startsWith("PUT")).length).toBe(2);
  expect(pages.failures).toEqual(["r1 refused"]);
  expect(await pages.disk.runs()).toEqual([]);
});

test.each([
  [refused(404), "refused"],
  [refused(403), "refused"],
  [refused(413), "too_large"],
  [refused(507, "insufficient_storage", { budget: "stay" }), "storage_full"],
] as const)("a part that is refused for good ends the run: %p", async (answer, why) => {
  const pages = new Pages();
  const { service } = pages;
  service.fault = (call) => (call.startsWith("PUT") ? { answer } : undefined);
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1") });
  await part(desk, "r1", "one");
  await until(() => pages.failures.length > 0);
  expect(pages.failures).toEqual([`r1 ${why}`]);
  // What came before is completed by the service.
  expect(service.uploads.get("u1")?.isComplete).toBe(true);
  await part(desk, "r1", "two");
  await until(() => pages.pending()?.runs === 0);
  expect(await pages.disk.runs()).toEqual([]);
});

test("a later page finishes what a killed one has left, with the newest token of the stay", async () => {
  const pages = new Pages();
  const { service } = pages;
  const killed = pages.desk();
  await killed.received({ do: "open", opening: opening("r1") });
  await part(killed, "r1", "before ");
  await until(() => service.textOf("u1") === "before ");
  // From here on the killed page gets no answers.
  service.fault = () => ({ answer: { status: 0 } });
  await part(killed, "r1", "the end");
  pages.killAll();
  service.fault = () => undefined;
  const next = pages.desk();
  await next.received({ do: "token", stay: "s1", token: "t2" });
  await next.adopt();
  await until(() => service.uploads.get("u1")?.isComplete === true);
  expect(service.textOf("u1")).toBe("before the end");
  expect(service.tokens.at(-1)).toBe("t2");
});

test("a run is finished by one page alone", async () => {
  const pages = new Pages();
  const [first, second] = [pages.desk(), pages.desk()];
  await first.received({ do: "open", opening: opening("r1") });
  await part(first, "r1", "mine");
  await until(() => pages.service.textOf("u1") === "mine");
  await second.adopt();
  await Bun.sleep(A_WHILE_MS);
  expect(pages.service.uploads.get("u1")?.isComplete).toBe(false);
  await first.received({ do: "end", run: "r1" });
  await until(() => pages.service.uploads.get("u1")?.isComplete === true);
  await Bun.sleep(A_WHILE_MS);
  expect(pages.service.calls.filter((call) => call.startsWith("DELETE")).length).toBe(1);
});

test("runs of another day are removed, and so is what cannot be read", async () => {
  const pages = new Pages();
  pages.service.fault = () => ({ answer: { status: 0 } });
  await pages.desk().received({ do: "open", opening: opening("old", { startedMs: 1_000_000 - DAY_MS - 1 }) });
  await until(() => pages.waits.length > 0);
  (await (await pages.disk.folder("torn")).open("notes-1")).write(new TextEncoder().encode('{"run":'), 0);
  pages.killAll();
  await pages.desk().adopt();
  await until(async () => (await pages.disk.runs()).length === 0);
});

test("no disk and no memory: the run ends there, and what is held is uploaded", async () => {
  const pages = new Pages();
  const { service } = pages;
  service.fault = (call) => (call.startsWith("PUT") ? { answer: { status: 0 } } : undefined);
  const desk = pages.desk({ withoutDisk: true, budget: new Budget({ disk: 0, memory: 10 }) });
  await desk.received({ do: "open", opening: opening("r1") });
  await part(desk, "r1", "12345678");
  await part(desk, "r1", "too much");
  await part(desk, "r1", "9");
  expect(pages.failures).toEqual(["r1 queue_full"]);
  await until(() => pages.reports.some((one) => one.is === "pending" && one.isInMemory));
  service.fault = () => undefined;
  await until(() => service.uploads.get("u1")?.isComplete === true);
  expect(service.textOf("u1")).toBe("12345678");
});

test("a run without a byte leaves nothing", async () => {
  const pages = new Pages();
  const desk = pages.desk();
  await desk.received({ do: "open", opening: opening("r1", { source: "microphone" }) });
  await desk.received({ do: "end", run: "r1" });
  await until(() => pages.disk.usedBytes === 0);
  expect([...pages.service.uploads.values()].every(({ isComplete }) => isComplete)).toBe(true);
});
