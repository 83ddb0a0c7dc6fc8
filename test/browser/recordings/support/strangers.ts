/** Nothing of one stay can be written, completed or read by another one. */
import { expect } from "bun:test";
import type { Application } from "../../../support/application.ts";
import { Backend } from "../../../support/recordings.ts";
import type { SentUpload } from "./sent-recordings.ts";

const HTML = new TextEncoder().encode("<script>alert(1)</script>");

export async function expectNothingForStrangers(
  app: Application,
  roomName: string,
  mine: SentUpload,
  theirs: SentUpload,
): Promise<void> {
  const backend = new Backend(app);
  const held = async (): Promise<number> => {
    const { body } = await backend.put(theirs.uploadUrl, undefined, { "Content-Range": "bytes */*" });
    return body.offset;
  };
  const before = await held();
  const headers = { "X-Forwarded-For": "10.7.7.7" };
  const as = (bearer: string) => ({ bearer, headers });
  const overwrite = () => backend.put(theirs.uploadUrl, HTML, { "Content-Range": "bytes 0-24/*" });
  let overwritten = await overwrite();
  // The page that it belongs to writes in this moment.
  while (overwritten.status === 423) overwritten = await overwrite();
  const outcomes = {
    // The address of one upload with the proof of another.
    put: await backend.put(mine.uploadUrl.replace(mine.id, theirs.id), HTML, { "Content-Range": "bytes 0-24/*" }),
    unproven: await backend.put(theirs.uploadUrl.replace(/\?.*/, ""), HTML, { "Content-Range": "bytes 0-24/*" }),
    // Nor can the bytes that are there be replaced by a client that has the address.
    overwritten,
    ended: await app.call("DELETE", `/room/${roomName}/recording`, { _id: theirs.id }, as(mine.token)),
    completed: await app.call("POST", `/recording/${theirs.id}/complete`, { total: before }, as(mine.token)),
    elsewhere: await app.call("POST", "/room/elsewhere/recording", { source: "camera" }, as(mine.token)),
    listed: await app.call("GET", "/recordings", undefined, as(mine.token)),
    deleted: await app.call("DELETE", `/recording/${theirs.id}`, undefined, as(mine.token)),
  };
  const statuses = Object.entries(outcomes).map(([name, { status }]) => [name, status]);
  expect(Object.fromEntries(statuses)).toEqual({
    put: 403,
    unproven: 403,
    overwritten: 409,
    ended: 404,
    completed: 404,
    elsewhere: 403,
    listed: 400,
    deleted: 400,
  });
  expect(await held()).toBeGreaterThanOrEqual(before);
}
