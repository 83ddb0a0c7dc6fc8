/** Looks at the list of recordings all the time: whatever is listed must be whole from the first moment, and never change. */
import { join } from "node:path";
import type { Application } from "../../../support/application.ts";
import type { Page as ListPage, Recording } from "../../../support/recordings.ts";
import { sha256 } from "../../../support/recordings.ts";
import { removeFolder, tempFolder } from "../../../support/temp.ts";
import { retried } from "../../../support/wait.ts";
import { look, type MediaFile } from "./media-files.ts";

export type ListedRecording = Recording & { readonly mended?: boolean };

export interface Seen {
  readonly record: ListedRecording;
  readonly file: MediaFile;
  readonly path: string;
  readonly hash: string;
}

const LOOK_EVERY_MS = 100;

export class ListedRecordings {
  readonly seen = new Map<string, Promise<Seen>>();
  readonly faults: string[] = [];
  /** How often the list was looked at. */
  looks = 0;
  private readonly folder = tempFolder();
  private readonly records = new Map<string, string>();
  private isOver = false;
  private readonly ended: Promise<void>;

  constructor(private readonly app: Application) {
    this.ended = this.lookOn();
  }

  /** Stops looking, and looks at every file once more. */
  async close(): Promise<Seen[]> {
    this.isOver = true;
    await this.ended;
    const all = await Promise.all(this.seen.values());
    for (const { record, hash } of all) {
      const isSame = sha256(await this.bytesOf(record._id)) === hash;
      if (!isSame) this.faults.push(`${record._id}: its file has changed since it was listed`);
    }
    removeFolder(this.folder);
    return all;
  }

  linkTo(id: string): Promise<string> {
    return this.app.must<{ url: string }>("GET", `/recording/${id}/view`).then(({ url }) => url);
  }

  private async lookOn(): Promise<void> {
    while (!this.isOver) {
      // No node may be there to answer.
      const answer = await this.app.call<ListPage>("GET", "/recordings?limit=100").catch(() => undefined);
      if (answer?.status === 200) this.compare(answer.body.data);
      await Bun.sleep(LOOK_EVERY_MS);
    }
  }

  private compare(listed: readonly ListedRecording[]): void {
    this.looks++;
    for (const record of listed) {
      const text = JSON.stringify(record);
      const known = this.records.get(record._id);
      if (known === undefined) {
        this.records.set(record._id, text);
        this.seen.set(record._id, this.check(record));
      } else if (known !== text) this.faults.push(`${record._id}: was ${known}, and is ${text}`);
    }
    for (const id of this.records.keys())
      if (!listed.some(({ _id }) => _id === id)) this.faults.push(`${id} is listed no longer`);
  }

  private async check(record: ListedRecording): Promise<Seen> {
    const bytes = await this.bytesOf(record._id);
    const path = join(this.folder, record._id);
    await Bun.write(path, bytes);
    const file = await look(path);
    if (bytes.length !== record.sizeInBytes)
      this.faults.push(`${record._id}: ${bytes.length} bytes, listed with ${record.sizeInBytes}`);
    if (file.complaints !== "") this.faults.push(`${record._id}: ${file.complaints}`);
    return { record, file, path, hash: sha256(bytes) };
  }

  private async bytesOf(id: string): Promise<Uint8Array> {
    // The node may have been killed meanwhile.
    return retried(`the bytes of ${id}`, async () => {
      const response = await this.fetched(await this.linkTo(id));
      if (response.status === 200) return response.bytes();
      throw new Error(`${id}: ${response.status} ${await response.text()}`);
    });
  }

  private fetched(link: string): Promise<Response> {
    const { host } = new URL(link);
    return fetch(link.replace(/^http:\/\/[^/]*localhost/, "http://127.0.0.1"), { headers: { Host: host } });
  }
}
