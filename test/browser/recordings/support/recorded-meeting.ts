/** A meeting that is recorded while tabs, nodes and the network are lost, and what must be there of it in the end. */
import { expect } from "bun:test";
import type { Browser } from "playwright-core";
import { Backend } from "../../../support/recordings.ts";
import { until } from "../../../support/wait.ts";
import { type Compared, expectRuns } from "./expected-runs.ts";
import { ListedRecordings } from "./listed-recordings.ts";
import { RecordedPerson, type RecorderRun } from "./recorded-person.ts";
import type { Setting } from "./settings.ts";

const LISTED_WITHIN_MS = 120_000;
/** With what is tried again after the network was away: a page waits up to a minute for an answer before it does so. */
const SENT_WITHIN_MS = 120_000;
/** A recorder makes as much in its first seconds, also on a busy machine. */
const SOMETHING_BYTES = 5000;

export class RecordedMeeting {
  readonly roomName = "standup";
  readonly people: RecordedPerson[] = [];
  /** By uploads of pages that are lost for good. */
  readonly arrived = new Map<string, number>();
  private startedMs = 0;

  private constructor(
    readonly setting: Setting,
    private readonly browser: Browser,
    readonly roomId: string,
    readonly listed: ListedRecordings,
  ) {}

  static async prepare(setting: Setting, browser: Browser): Promise<RecordedMeeting> {
    const { app } = setting;
    const { _id } = await app.must("POST", "/room", { roomName: "standup", enableRecording: true });
    return new RecordedMeeting(setting, browser, String(_id), new ListedRecordings(app));
  }

  async arrive(name: string, isAdmin = false): Promise<RecordedPerson> {
    const { app, port } = this.setting;
    const { token } = await app.must<{ token: string }>("POST", "/token", { roomName: this.roomName, isAdmin });
    const path = isAdmin ? `${this.roomName}#token=${token}` : this.roomName;
    const person = await RecordedPerson.arrive(this.browser, name, { host: `${app.name}.localhost`, port, path });
    this.people.push(person);
    await person.enter();
    return person;
  }

  /** `host` starts the recording, and everyone agrees. */
  async record(host: RecordedPerson): Promise<void> {
    await host.tab.choose("Record the meeting");
    await host.tab.button("Start recording").click();
    const others = this.people.filter((one) => one !== host);
    await Promise.all(others.map(({ tab }) => tab.button("Agree and stay").click()));
    await Promise.all(this.people.map((person) => this.hasSent(person)));
    this.startedMs = Date.now();
  }

  /** Something of its newest run has been sent, and of those before. One of the microphone alone is followed by that of the camera. */
  async hasSent(person: RecordedPerson): Promise<void> {
    const { name, sent, runs } = person;
    const newest = (): RecorderRun | undefined => [...runs.values()].at(-1);
    const isSent = (): boolean =>
      (newest()?.parts.length ?? 0) > 0 &&
      newest()?.source !== "microphone" &&
      sent.made.length === person.recorded.length &&
      (sent.made.at(-1)?.bytes.length ?? 0) >= SOMETHING_BYTES;
    await until(`${name} is recorded`, isSent, SENT_WITHIN_MS).catch((error: unknown) => {
      const made = [...runs.values()].map(({ source, parts }) =>
        [source, ...parts.map(({ bytes }) => bytes)].join(" "),
      );
      throw new Error(`${error}; made: ${made.join(", ")}; sent: ${sent.made.map(({ bytes }) => bytes.length)}`);
    });
  }

  /** Resolves that many seconds after everyone is being recorded. */
  second(at: number): Promise<void> {
    return Bun.sleep(Math.max(0, this.startedMs + at * 1000 - Date.now()));
  }

  /** Asks what the service holds of the uploads of someone whose page is gone. */
  async noteArrived({ sent }: RecordedPerson): Promise<void> {
    const backend = new Backend(this.setting.app);
    for (const { id, uploadUrl } of sent.made) {
      const { status, body } = await backend.put(uploadUrl, undefined, { "Content-Range": "bytes */*" });
      if (status === 200) this.arrived.set(id, body.offset);
    }
  }

  /** Once the host is connected. */
  async stop(host: RecordedPerson): Promise<void> {
    await host.tab.page.locator(".banner").waitFor({ state: "detached" });
    await host.tab.choose("Stop recording");
    await host.tab.page.locator(".rec-mark").waitFor({ state: "detached" });
  }

  /** Each run of a recorder is listed, right from the first moment that it is; and no file is left beside theirs. */
  async allListed(): Promise<Compared[]> {
    const runs = this.people.flatMap(({ recorded }) => recorded).length;
    await until(`${runs} recordings are listed`, () => this.listed.seen.size >= runs, LISTED_WITHIN_MS);
    await until("no other file is left", () => this.setting.files().length === runs).catch((error: unknown) => {
      throw new Error(`${error}: ${this.setting.files().join(" ")}`);
    });
    const listed = await this.listed.close();
    expect(this.listed.faults).toEqual([]);
    const { people, roomId, arrived } = this;
    return expectRuns({ app: this.setting.app, people, roomId, arrived, listed });
  }

  async end(): Promise<void> {
    await this.listed.close();
    await Promise.all(this.people.map((person) => person.leave()));
  }
}
