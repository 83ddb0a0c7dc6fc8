/** Recordings that pages make: how visitors come to them, what the application API lists of them, and their bytes. */
import { expect } from "bun:test";
import type { Application } from "../../support/application.ts";
import { until } from "../../support/wait.ts";
import type { Visitor } from "./visitor.ts";

export interface Listed {
  readonly _id: string;
  readonly type: string;
  readonly participantUsername: string;
  readonly participantSession: string;
  readonly sizeInBytes: number;
  readonly startTime: number;
  readonly endTime: number;
  readonly mended?: boolean;
}

export async function startsRecording(host: Visitor): Promise<void> {
  await host.choose("Record the meeting");
  await host.button("Start recording").click();
  await host.page.locator(".rec-mark").waitFor();
}

export const agreesAndStays = (visitor: Visitor): Promise<void> => visitor.button("Agree and stay").click();

/** Time is what is recorded: there is no event to wait for. */
export const recordsFor = (visitor: Visitor, seconds: number): Promise<void> =>
  visitor.page.waitForTimeout(seconds * 1000);

export async function leavesAfterUpload(visitor: Visitor): Promise<void> {
  await visitor.button("Leave").click();
  const left = visitor.heading("You have left the meeting");
  // The last host is asked, while someone else is still inside.
  const asked = visitor.page.getByRole("dialog").getByRole("button", { name: "Leave", exact: true });
  await left.or(asked).first().waitFor();
  if (await asked.isVisible()) await asked.click();
  await left.waitFor();
  await visitor.page.getByText("You can close this page now.").first().waitFor();
}

/** The first bytes of WebM. */
const EBML = "1a45dfa3";

/** Waits until a room has `count` of them, by the time they began; each one begins as a WebM file does. */
export async function recordingsOf(app: Application, roomUrl: string, count: number): Promise<readonly Listed[]> {
  const room = new URL(roomUrl).pathname.slice(1);
  let data: Listed[] = [];
  await until(`${count} recordings`, async () => {
    ({ data } = await app.must<{ data: Listed[] }>("GET", `/recordings?room=${room}`));
    return data.length >= count;
  });
  expect(data.length).toBe(count);
  for (const { _id, mended } of data) expect([mended, await beginningOf(app, _id)]).toEqual([true, EBML]);
  return data.toSorted((a, b) => a.startTime - b.startTime);
}

async function beginningOf(app: Application, id: string): Promise<string> {
  return Buffer.from(await downloaded(app, id, "bytes=0-3")).toString("hex");
}

/** By the link that the application API gives for it; `range`: a part of it. */
export async function downloaded(app: Application, id: string, range?: string): Promise<ArrayBuffer> {
  const { url } = await app.must<{ url: string }>("GET", `/recording/${id}/download`);
  const { pathname, search } = new URL(url);
  const headers = { Host: app.host, ...(range !== undefined && { Range: range }) };
  return (await fetch(app.url + pathname + search, { headers })).arrayBuffer();
}
