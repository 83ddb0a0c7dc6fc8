/** Texts by outsiders on a terminal: whatever a command puts into its result, nothing of it is obeyed. And readers of pipes that are slow. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parleyCommand } from "../../../test/support/command.ts";
import { until } from "../../../test/support/wait.ts";
import { shell } from "../testing/kit.ts";
import { Running } from "../testing/running.ts";

setDefaultTimeout(60_000);

/** Clears the screen in two ways, begins a line, turns the direction of what follows, and hides. */
const ODD = "a\u001b[2J\u009b2J\r\nb\u202ec\u2066d\u2028e\u200bf";
const SHOWN = "a\\u001b[2J\\u009b2J\\u000d\\u000ab\\u202ec\\u2066d\\u2028e\\u200bf";
const CONTROLS = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const RECORDING = {
  _id: "1".repeat(24),
  room: "2".repeat(24),
  participantUsername: ODD,
  participantSession: ODD,
  meetingSession: ODD,
  downloadName: ODD,
  sizeInBytes: 1,
  type: ODD,
  startTime: 1,
  endTime: 2,
  mended: false,
};

/** A server that outsiders have filled, or that is one of them. */
function oddServer(): ReturnType<typeof Bun.serve> {
  return Bun.serve({
    port: 0,
    fetch: ({ url, method }) => {
      const { pathname } = new URL(url);
      if (pathname.endsWith("/tail"))
        return new Response(`data: ${JSON.stringify({ at: 1, kind: "publish", peerId: ODD, data: ODD })}\n\n`, {
          headers: { "Content-Type": "text/event-stream" },
        });
      if (method === "DELETE") return Response.json({ success: true, message: ODD });
      if (pathname.endsWith("/rooms"))
        return Response.json({ data: [{ _id: RECORDING.room, roomName: ODD }], total: 1, currEndId: "" });
      if (pathname.endsWith("/recordings")) return Response.json({ data: [RECORDING], total: 1, currEndId: "" });
      return Response.json(RECORDING);
    },
  });
}

test.each([["recordings list"], [`recordings delete ${RECORDING._id} --yes`], ["recordings list --json"]])(
  "%s shows it as escapes",
  async (command) => {
    const server = oddServer();
    const home = mkdtempSync(join(tmpdir(), "parley-output-"));
    try {
      const child = Bun.spawn(parleyCommand(...command.split(" "), "--url", server.url.origin), {
        env: { PATH: process.env.PATH ?? "", PARLEY_APP_SECRET: "s".repeat(48), PARLEY_DATA: home },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      expect([stderr, await child.exited]).toEqual(["", 0]);
      expect(CONTROLS.exec(stdout)).toBeNull();
      if (command.endsWith("--json")) expect(JSON.parse(stdout)).toMatchObject(RECORDING);
      else expect(stdout).toContain(SHOWN.slice(0, 20));
    } finally {
      await server.stop(true);
      rmSync(home, { recursive: true });
    }
  },
);

test.each(["", "--json"])("tail %s shows it as escapes", async (flag) => {
  const server = oddServer();
  const one = new Running(["tail", ...flag.split(" ").filter(Boolean), "--url", server.url.origin], {
    PARLEY_ADMIN_TOKEN: "t",
  });
  try {
    await one.has("stdout", "\n");
    expect(CONTROLS.exec(one.stdout)).toBeNull();
    expect(one.stdout).toContain("\\u009b2J");
  } finally {
    await one.stop("SIGKILL");
    await server.stop(true);
  }
});

/** What Linux keeps of a pipe until it is read. */
const PIPE_BYTES = 65_536;

const writtenBy = (pid: number): number =>
  Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1] ?? 0);

test("a pipe that is read late gets every byte once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-output-"));
  const pipe = join(folder, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  // Open for both, so that neither end waits for the other one.
  const both = openSync(pipe, "r+");
  const [out, into] = [openSync(pipe, "r"), openSync(pipe, "w")];
  try {
    const child = Bun.spawn(parleyCommand("help", "--json"), { stdio: ["ignore", into, "inherit"] });
    for (const end of [both, into]) closeSync(end);
    await until("the pipe is full", () => writtenBy(child.pid) >= PIPE_BYTES);
    const text = await Bun.spawn(["cat"], { stdio: [out, "pipe", "inherit"] }).stdout.text();
    expect(text.length).toBeGreaterThan(PIPE_BYTES);
    expect(Object.keys(JSON.parse(text))).toContain("commands");
    expect(await child.exited).toBe(0);
  } finally {
    closeSync(out);
    rmSync(folder, { recursive: true });
  }
});

test.each(["help", "help --json"])("%s into a full disk says so, and fails", async (command) => {
  const { exitCode, stderr } = await shell(`parley ${command} >/dev/full`);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("the disk is full")]);
});
