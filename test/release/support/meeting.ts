/** A recorded meeting with a service that was installed: it is mended in a process that the service starts through a shell. */
import { readFileSync } from "node:fs";
import { liveWebm } from "../../../src/recordings/mending/testing/live-webm.ts";
import { type Listed, Recorder, recordedRoom } from "../../attack/support/recorder.ts";
import { ROOMS_ENV } from "../../conformance/raw/support/rooms.ts";
import { Admin } from "../../support/admin.ts";

/** What the service needs in its environment for that. */
export const MEETING_ENV = ROOMS_ENV;

/** The recording as the service lists it when it is ready. `firstRun`: the file with the admin token. */
export async function recordedMeeting(url: string, firstRun: string): Promise<Listed> {
  const [, token = ""] = /admin token +(\S+)/.exec(readFileSync(firstRun, "utf8")) ?? [];
  const ann = await Recorder.in(await recordedRoom({ url, admin: new Admin(url, token) }));
  return ann.listed(await ann.send(liveWebm({ seconds: 4 })));
}
