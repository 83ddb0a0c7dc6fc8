/** docs/recordings.md: its commands, pasted into a shell, and its numbers. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { RECORDINGS_DEFAULT_BYTES } from "../../src/access/limits.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { en } from "../../web/meeting/texts/en.ts";
import { type Server, startParley } from "../support/parley.ts";
import { blocks, readPage } from "./support/page.ts";
import { hold, paste } from "./support/shell.ts";

const PAGE = "docs/recordings.md";

setDefaultTimeout(60_000);

let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server.stop());

test("every command of the page does what it says", async () => {
  const { port } = new URL(server.url);
  const script = blocks(PAGE)
    .filter(({ language }) => language === "sh")
    .map(({ text }) => text)
    .join("")
    .replaceAll("localhost:8080", `localhost:${port}`)
    .replaceAll("data/first-run.txt", `${server.data}/first-run.txt`);
  const address = `http://demo.localhost:${port}/lesson`;
  hold(await paste(script, { PARLEY_URL: server.url, PARLEY_DATA: server.data }), [
    { command: /rooms create interview/, holds: ({ out }) => expect(out).toMatch(/^recordRoom +true$/m) },
    { command: /rooms create lesson/, holds: ({ out }) => expect(out).toMatch(/^enableRecording +true$/m) },
    { command: /rooms open/, holds: ({ out }) => expect(out).toStartWith(`${address}#token=`) },
    { command: /recordings list/, holds: ({ err }) => expect(err).toBe("No recordings match.\n") },
  ]);
});

test("it names the controls of the meeting's page as they are labelled", () => {
  const page = readPage(PAGE);
  expect(page).toContain(`${en.more} → "${en.record}", then "${en.recordStart}"`);
  expect(page).toContain(`${en.more} → "${en.record}" → "${en.recordStart}"`);
  expect(page).not.toMatch(/record button|"Record" in the page/);
});

test("its budgets are those of the service", () => {
  const page = readPage(PAGE);
  const gib = 1024 ** 3;
  expect(page).toMatch(new RegExp(`maxRecordingBytesTotal.*\\| ${RECORDINGS_DEFAULT_BYTES / gib} GiB \\|`));
  expect(page).toMatch(
    new RegExp(`PARLEY_MAX_RECORDING_BYTES.*\\| ${SETTINGS.maxRecordingBytes.initial / gib} GiB \\|`),
  );
  expect(page).toMatch(
    new RegExp(`PARLEY_MIN_FREE_DISK_BYTES.*\\| ${SETTINGS.minFreeDiskBytes.initial / 1024 ** 2} MiB \\|`),
  );
});
