/** Part of the suite of every store: what belongs to a recording beside its file (recording-extras.ts). */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import { type NewPlace, withApps } from "./places.ts";
import { databaseOf } from "./recordings.ts";
import { COMPLETION, uploadRow } from "./rows.ts";

const [A, B] = [anAppId("a"), anAppId("b")];
const JPEG = Uint8Array.of(0xff, 0xd8, 0, 7);

export function recordingExtrasSuite(newPlace: NewPlace): void {
  let store: Store;
  beforeAll(async () => {
    store = await withApps(await newPlace());
  });
  afterAll(() => store.close());

  const begin = async (id: string): Promise<void> => {
    expect(await store.recordings.addUpload(uploadRow(id, { startedMs: 100_250 }), 1e9)).toBe(true);
  };
  const count = async (): Promise<number> =>
    databaseOf(store).run(async (sql) => Number((await sql`SELECT COUNT(*) AS n FROM recording_extras`)[0].n));

  describe("extras of recordings", () => {
    test("are written while the upload is open, counted with it, and removed with the recording", async () => {
      const { recordings } = store;
      await begin("x1");
      expect(await recordings.putThumbnail(A, "x1", Uint8Array.of(1, 2))).toBe(true);
      expect(await recordings.putThumbnail(A, "x1", JPEG)).toBe(true);
      expect(await recordings.putSpeech(A, "x1", "1,2,3,4", 600)).toBe(true);
      // Not those of an upload: it is not listed.
      expect(await recordings.thumbnail(A, "x1")).toBeUndefined();
      expect(await recordings.putThumbnail(B, "x1", JPEG)).toBe(false);
      expect(await recordings.putSpeech(A, "none", "", 0)).toBe(false);
      const made = await recordings.complete("x1", 0, COMPLETION);
      expect(made).toMatchObject({ hasThumbnail: true, speechMs: 600, startedMs: 100_250, sizeInBytes: 10 });
      expect(await recordings.recording(A, "x1")).toEqual(made);
      expect(await recordings.thumbnail(A, "x1")).toEqual(JPEG);
      expect(await recordings.thumbnail(B, "x1")).toBeUndefined();
      expect(await recordings.speech(A, ["x1", "none"])).toEqual(new Map([["x1", "1,2,3,4"]]));
      expect(await recordings.speech(B, ["x1"])).toEqual(new Map());
      expect([await recordings.putThumbnail(A, "x1", JPEG), await recordings.putSpeech(A, "x1", "", 0)]).toEqual([
        false,
        false,
      ]);
      const { bytes } = await recordings.stored(A);
      expect(bytes).toBeGreaterThan(COMPLETION.sizeInBytes + JPEG.length);
      await recordings.recount();
      expect((await recordings.stored(A)).bytes).toBe(bytes);
      expect(await recordings.deleteRecordings(A, ["x1"])).toEqual(["x1"]);
      expect((await recordings.stored(A)).bytes).toBe(0);
      expect(await count()).toBe(0);
    });

    test("of an upload that is discarded or finished are removed, or not written any more", async () => {
      const { recordings } = store;
      await begin("x2");
      await recordings.putSpeech(A, "x2", "", 0);
      expect(await recordings.discardUpload("x2", 5)).toBe(true);
      expect(await count()).toBe(0);
      await begin("x3");
      expect(await recordings.finish("x3", 0, 10, 5)).toMatchObject({ finished: 5 });
      expect(await recordings.putThumbnail(A, "x3", JPEG)).toBe(false);
      const made = await recordings.complete("x3", 0, COMPLETION);
      expect(made).toMatchObject({ hasThumbnail: false, speechMs: null });
      await recordings.deleteRecordings(A, ["x3"]);
    });

    test("that a node of an earlier version has left are forgotten, and no others", async () => {
      const { recordings } = store;
      for (const id of ["x4", "x5", "x6"]) {
        await begin(id);
        await recordings.putSpeech(A, id, "", 0);
      }
      await recordings.complete("x5", 0, COMPLETION);
      await recordings.complete("x6", 0, COMPLETION);
      await databaseOf(store).run((sql) => sql`DELETE FROM recordings WHERE id = 'x6'`);
      const first = await store.clearing.forgetRecordingExtras(2);
      expect(first).toEqual({ removed: 0, next: { at: 0, id: "x5" } });
      expect(await store.clearing.forgetRecordingExtras(2, first.next)).toEqual({ removed: 1, next: undefined });
      expect(await count()).toBe(2);
    });
  });
}
