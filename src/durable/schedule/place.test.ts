import { describe, expect, test } from "bun:test";
import { backupPlace } from "./place.ts";

const OPTIONS = { env: {}, nowMs: () => 0 };
const place = (setting: string) => backupPlace(setting, "/srv/data", OPTIONS);

describe("the place of backups", () => {
  test.each([
    ["/backups", { kind: "folder", to: "/backups/", shown: "/backups", isInDataFolder: false }],
    ["/backups/", { kind: "folder", to: "/backups/", shown: "/backups", isInDataFolder: false }],
    ["/srv/data/backups", { shown: "/srv/data/backups", isInDataFolder: true }],
    ["/srv/data", { isInDataFolder: true }],
    ["/srv/data-backups", { isInDataFolder: false }],
    ["/srv", { isInDataFolder: false }],
    ["/srv/data/..backups", { isInDataFolder: true }],
    ["s3://KEY:SECRET@bucket/some/prefix/", { kind: "bucket", shown: "s3://bucket/some/prefix" }],
    ["s3://KEY:SECRET@bucket", { kind: "bucket", shown: "s3://bucket", isInDataFolder: false }],
  ])("%s", (setting, expected) => {
    expect(place(setting)).toMatchObject(expected);
    expect(place(setting).shown).not.toContain("SECRET");
  });

  test.each([
    ["s3://bucket/prefix", "needs a credential"],
    ["s3://K:S@bucket/prefix/parley-20300131T020000Z.backup", "names a single backup"],
    // It would be a folder `gs:` below that of the process.
    ["gs://bucket/backups", "a place for backups is a path, or has the form s3://bucket/prefix"],
    ["sftp://user:secret@host/backups", "a place for backups is a path"],
  ])("is refused: %s", (setting, why) => {
    expect(() => place(setting)).toThrow(why);
  });
});
