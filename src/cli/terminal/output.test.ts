/** Texts by outsiders on a terminal: whatever a command puts into its result, nothing of it is obeyed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parleyCommand } from "../../../test/support/command.ts";
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
