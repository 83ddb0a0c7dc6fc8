/** Opens the storage of recordings that the settings name. */
import { join } from "node:path";
import { systemClock } from "../base/clock.ts";
import { Folder } from "./storage/folder/folder.ts";
import { parseS3Address } from "./storage/s3/address.ts";
import { Bucket } from "./storage/s3/bucket.ts";
import type { Storage } from "./storage/storage.ts";

export interface StorageSettings {
  /** A bucket; "": a folder of the data folder. */
  readonly storageUrl: string;
  readonly data: string;
  readonly minFreeDiskBytes: number;
  readonly maxRecordingBytes: number;
}

/** `env`: where the credentials of a bucket are, if its address has none. Throws StorageError. */
export function openStorage(settings: StorageSettings, env: Readonly<Record<string, string | undefined>>): Storage {
  const { storageUrl, data, minFreeDiskBytes, maxRecordingBytes } = settings;
  if (storageUrl === "") return new Folder(join(data, "recordings"), minFreeDiskBytes);
  return new Bucket(parseS3Address(storageUrl, env), maxRecordingBytes, systemClock.wallMs);
}
