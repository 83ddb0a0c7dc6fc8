import { afterAll, afterEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { until, within } from "../../../test/support/wait.ts";
import { systemClock } from "../../base/clock.ts";
import { NOTHING_ALLOWED, parseAllow } from "../../net/allow.ts";
import type { GuardRules } from "../../net/guard.ts";
import { Sender } from "./sender.ts";

const RULES: GuardRules = { allow: parseAllow("127.0.0.0/8") ?? NOTHING_ALLOWED, ownHosts: [], ownPorts: [] };

let requests = 0;
const answers: ((response: Response) => void)[] = [];
const receiver = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async (request) => {
    requests++;
    const { pathname } = new URL(request.url);
    if (pathname === "/hang") return new Promise<Response>((resolve) => void answers.push(resolve));
    return new Response(`${request.headers.get("webhook-id")} ${await request.text()}`);
  },
});
const url = (path = "/"): string => `http://127.0.0.1:${receiver.port}${path}`;
const request = (path?: string, body = "{}") => ({
  url: url(path),
  isTrusted: true,
  headers: { "webhook-id": "msg_1" },
  body,
});

const senders: Sender[] = [];
function newSender(options: Partial<ConstructorParameters<typeof Sender>[0]> = {}): Sender {
  const sender = new Sender({ rules: RULES, clock: systemClock, ...options });
  senders.push(sender);
  return sender;
}
afterEach(async () => {
  for (const resolve of answers.splice(0)) resolve(new Response());
  for (const sender of senders.splice(0)) await sender.stop();
});
afterAll(() => receiver.stop(true));

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`) || isKillable(pid);
const isKillable = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("requests are sent by another process, with what they are given", async () => {
  const sender = newSender();
  expect(sender.pid).toBeUndefined();
  const text = "ü".repeat(9000);
  const sent = await within("a result", sender.send(request("/", text)));
  expect(sent).toMatchObject({ answer: { status: 200, response: expect.stringContaining("msg_1 üüü") } });
  expect(sender.pid).toBeNumber();
  const many = await Promise.all(Array.from({ length: 300 }, () => sender.send(request())));
  expect(many.every((one) => one !== "lost" && "status" in one.answer && one.answer.status === 200)).toBe(true);
});

test("its environment has nothing of the service's", async () => {
  process.env.PARLEY_ADMIN_TOKEN = "of-the-service";
  process.env.HTTP_PROXY = "http://127.0.0.1:1";
  try {
    const sender = newSender();
    expect(await sender.send(request())).toMatchObject({ answer: { status: 200 } });
    const environment = await Bun.file(`/proc/${sender.pid}/environ`).text();
    expect(environment).not.toContain("of-the-service");
    expect(environment.toLowerCase()).not.toContain("proxy");
  } finally {
    delete process.env.PARLEY_ADMIN_TOKEN;
    delete process.env.HTTP_PROXY;
  }
});

test("what was under way when the process is killed is lost, and the next request starts another", async () => {
  const deaths: string[] = [];
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs, after: systemClock.after };
  const sender = newSender({ died: (how) => deaths.push(how), clock });
  const before = requests;
  const hanging = [sender.send(request("/hang")), sender.send(request("/hang"))];
  await until("both are under way", () => requests === before + 2);
  const { pid = 0 } = sender;
  process.kill(pid, "SIGKILL");
  expect(await within("both are lost", Promise.all(hanging))).toEqual(["lost", "lost"]);
  expect(deaths).toEqual(["SIGKILL"]);
  // Not without a pause: it may die each time.
  expect(await sender.send(request())).toBe("lost");
  nowMs += 2000;
  expect(await sender.send(request())).toMatchObject({ answer: { status: 200 } });
  expect(sender.pid).not.toBe(pid);
});

test("at most 128 requests are under way", async () => {
  const sender = newSender();
  const before = requests;
  const all = Array.from({ length: 140 }, () => sender.send(request("/hang")));
  await until("128 requests", () => requests === before + 128);
  expect(sender.size).toBe(128);
  answers.shift()?.(new Response());
  await until("the next one", () => requests === before + 129);
  for (const resolve of answers.splice(0)) resolve(new Response());
  await until("the last ones", () => requests === before + 140);
  for (const resolve of answers.splice(0)) resolve(new Response());
  expect((await Promise.all(all)).length).toBe(140);
});

test("the process ends when nothing is sent", async () => {
  const sender = newSender({ idleMs: 100 });
  await sender.send(request());
  const { pid = 0 } = sender;
  await until("it has ended", () => !isAlive(pid));
  expect(await sender.send(request())).toMatchObject({ answer: { status: 200 } });
});

test("the process ends with the one that started it, however that ends", async () => {
  const parent = Bun.spawn(
    [
      process.execPath,
      "--no-env-file",
      `${import.meta.dir}/../../../test/support/webhooks/sender-parent.ts`,
      url("/hang"),
    ],
    { stdout: "pipe", stderr: "inherit", stdin: "pipe" },
  );
  const { value } = await parent.stdout.getReader().read();
  const pid = Number(new TextDecoder().decode(value));
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await until("the process has ended", () => !isAlive(pid));
});
