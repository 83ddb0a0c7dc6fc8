/** Part of the suite of every store: uploads that the pages of a meeting send, from their beginning to the recording. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { AppId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { RecordingStore, StayUploadRow } from "../contract/recordings.ts";
import type { Store } from "../contract/store.ts";
import { GUEST_RECORDING_MIN_BYTES } from "../contract/uploads.ts";
import { entering } from "./meetings.ts";
import { type NewPlace, withApps } from "./places.ts";
import { ids } from "./recordings.ts";
import { COMPLETION, uploadRow } from "./rows.ts";

const A = anAppId("a");
const B = anAppId("b");

let last = 0;
/** An id that no other test has. */
const newName = (): string => `x${++last}`;

const stayUpload = (stay: string, fields: Partial<StayUploadRow> = {}): StayUploadRow => ({
  ...uploadRow(newName()),
  participantSession: stay,
  stay,
  source: "camera",
  ...fields,
});

export function stayUploadsSuite(newPlace: NewPlace): void {
  describe("uploads of stays", () => {
    let opened: Store;
    let store: RecordingStore;
    // One store for all tests: creating a PostgreSQL database for each would take long.
    beforeAll(async () => {
      opened = await withApps(await newPlace());
      store = opened.recordings;
    });
    afterAll(() => opened.close());
    beforeEach(async () => {
      for (const app of [A, anAppId("b")])
        for (const { id } of await store.uploadsOf(app)) {
          await store.discardUpload(id, 1);
          await store.forgetUpload(id);
        }
      for (const { app, id } of await store.filesToRemove(100)) await store.fileRemoved(app, id);
    });

    const begun = async (stay = newName(), fields: Partial<StayUploadRow> = {}): Promise<StayUploadRow> => {
      const row = stayUpload(stay, fields);
      expect(await store.addStayUpload(row, 2)).toBe(true);
      return row;
    };

    const finished = async (): Promise<StayUploadRow> => {
      const row = await begun();
      expect((await store.finish(row.id, 0, 10, 5000))?.finished).toBe(5000);
      return row;
    };

    test("the open ones of each stay are limited, beside those of the application, also when all are begun at once", async () => {
      for (let i = 0; i < 3; i++) expect(await store.addUpload(uploadRow(newName()), 3)).toBe(true);
      const rows = Array.from({ length: 6 }, () => stayUpload("s1"));
      const added = await Promise.all(rows.map((row) => store.addStayUpload(row, 2)));
      expect(added.filter(Boolean)).toHaveLength(2);
      expect(await store.addStayUpload(stayUpload("s2"), 2)).toBe(true);
      expect(await store.addUpload(uploadRow(newName()), 3)).toBe(false);
      const open = await store.openUploadsOfStay(A, "s1");
      expect(open.map(({ stay, source, bytes }) => [stay, source, bytes])).toEqual([
        ["s1", "camera", 0],
        ["s1", "camera", 0],
      ]);
      await store.finish(open[0]?.id ?? "", 0, 10, 5000);
      expect(await store.addStayUpload(stayUpload("s1"), 2)).toBe(true);
      expect(await store.openUploadsOfStay(B, "s1")).toEqual([]);
    });

    test("those of a person who was removed are closed, for the leases too, and due at once", async () => {
      const [eve, ann] = [newName(), newName()];
      for (const id of [eve, ann]) await opened.meetings.enter(entering(id, newName()), 9, 1000);
      const [hers, other] = [await begun(eve), await begun(ann)];
      expect((await store.upload(A, hers.id))?.isClosed).toBe(false);
      await opened.meetings.end(eve, "removed", 2000);
      await opened.meetings.end(ann, "ended", 2000);
      expect([await opened.meetings.isBarred(eve), await opened.meetings.isBarred(ann)]).toEqual([true, false]);
      expect((await store.upload(A, hers.id))?.isClosed).toBe(true);
      expect((await store.upload(A, other.id))?.isClosed).toBe(false);
      for (const [{ id }, isClosed] of [
        [hers, true],
        [other, false],
      ] as const) {
        const lease = await opened.leases.take(id);
        expect(lease?.row?.isClosed ?? isClosed).toBe(isClosed);
        await lease?.release(true);
      }
      expect(ids(await store.dueStayUploads(1, 10))).toEqual([hers.id]);
    });

    test("so are those of earlier stays with the same access token, and not those of others who share it", async () => {
      const room = newName();
      const enters = async (accessToken: string, at: number): Promise<string> => {
        const id = newName();
        await opened.meetings.enter(entering(id, room, { accessToken, isGuest: false }), 9, at);
        return id;
      };
      const [first, host] = [await enters("t-eve", 1000), await enters("t-host", 1000)];
      const [hers, other] = [await begun(first), await begun(host)];
      for (const id of [first, host]) await opened.meetings.end(id, "left", 2000);
      const [second, shares] = [await enters("t-eve", 2000), await enters("t-eve", 2500)];
      const theirs = await begun(shares);
      expect((await store.upload(A, hers.id))?.isClosed).toBe(false);
      await opened.meetings.end(second, "removed", 3000);
      await opened.meetings.end(shares, "left", 4000);
      const stays = [first, second, shares, host];
      expect(await Promise.all(stays.map((id) => opened.meetings.isBarred(id)))).toEqual([true, true, false, false]);
      const rows = await Promise.all([hers, theirs, other].map(({ id }) => store.upload(A, id)));
      expect(rows.map((row) => row?.isClosed)).toEqual([true, false, false]);
      expect(ids(await store.dueStayUploads(1, 10))).toEqual([hers.id]);
    });

    test("so are those of a stay that had ended before its person was removed", async () => {
      for (const [why, isBarred] of [
        ["lost", true],
        ["left", true],
        ["time", false],
      ] as const) {
        const id = newName();
        await opened.meetings.enter(entering(id, newName()), 9, 1000);
        const { id: upload } = await begun(id);
        await opened.meetings.end(id, why, 2000);
        expect((await store.upload(A, upload))?.isClosed).toBe(false);
        expect(await opened.meetings.end(id, "removed", 3000)).toBeUndefined();
        expect([why, (await store.upload(A, upload))?.isClosed]).toEqual([why, isBarred]);
        expect(await opened.meetings.stay(id)).toMatchObject({ ended: 2000, why: isBarred ? "removed" : why });
      }
    });

    test("of finished ones, applications alternate, within them senders, and within these stays", async () => {
      const wait = async (app: AppId, sender: string, stay: string, at: number): Promise<string> => {
        const row = stayUpload(stay, { app, sender, room: "r9" });
        expect(await store.addStayUpload(row, 99)).toBe(true);
        await store.finish(row.id, 0, 10, at);
        return row.id;
      };
      const names = new Map<string, string>();
      const add = async (name: string, app: AppId, sender: string, stay: string, at: number): Promise<void> =>
        void names.set(await wait(app, sender, stay, at), name);
      for (const n of [1, 2, 3]) await add(`eve-${n}`, A, "s-eve", "eve", n);
      await add("eve-again", A, "s-eve", "eve-again", 4);
      await add("ann", A, "s-ann", "ann", 5);
      await add("ben", B, "s-ben", "ben", 6);
      const rows = await store.finishedUploads(10);
      expect(rows.map(({ id }) => names.get(id))).toEqual(["eve-1", "ben", "ann", "eve-again", "eve-2", "eve-3"]);
      expect(rows.map(({ nthOfStay, nthOfRoom }) => [nthOfStay, nthOfRoom])).toEqual([
        [1, 1],
        [1, 1],
        [1, 2],
        [1, 3],
        [2, 4],
        [3, 5],
      ]);
      expect((await store.finishedUploads(2)).map(({ id }) => names.get(id))).toEqual(["eve-1", "ben"]);
      expect(rows[0]?.sender).toBe("s-eve");
    });

    test("those of guests are summed apart, as uploads and as recordings, until they are deleted", async () => {
      const guests = async (): Promise<readonly number[]> => {
        const { ofGuests, uploadsOfGuests } = await store.bytesUsed(A, null);
        return [ofGuests, uploadsOfGuests];
      };
      const [one, two, other] = [
        await begun("s8", { byGuest: true }),
        await begun("s8", { byGuest: true }),
        await begun("s9"),
      ];
      const [least, more] = [GUEST_RECORDING_MIN_BYTES, GUEST_RECORDING_MIN_BYTES + 100];
      // However few bytes there are, an upload counts for something.
      expect(await guests()).toEqual([2 * least, 2]);
      for (const { id } of [one, two, other]) await store.noteBytes(id, 0, more, 3000);
      expect([(await store.upload(A, one.id))?.byGuest, (await store.upload(A, other.id))?.byGuest]).toEqual([
        true,
        false,
      ]);
      expect(await guests()).toEqual([2 * more, 2]);
      const before = await store.stored(A);
      await store.complete(one.id, 0, { ...COMPLETION, sizeInBytes: 30, mended: true });
      await store.complete(other.id, 0, { ...COMPLETION, sizeInBytes: 70, mended: true });
      expect(await guests()).toEqual([least + more, 1]);
      // What is shown is what is stored.
      expect((await store.stored(A)).bytes).toBe(before.bytes + 100);
      await store.recount();
      expect(await guests()).toEqual([least + more, 1]);
      expect((await store.stored(A)).bytes).toBe(before.bytes + 100);
      await store.complete(two.id, 0, { ...COMPLETION, sizeInBytes: more, mended: true });
      expect(await guests()).toEqual([least + more, 0]);
      await store.deleteRecordings(A, [one.id, other.id]);
      expect(await guests()).toEqual([more, 0]);
      await store.deleteRecordings(A, [two.id]);
      expect(await guests()).toEqual([0, 0]);
    });

    test("bytes are noted, and count for the application and the stay", async () => {
      const before = await store.bytesUsed(A, "s5");
      expect(before).toMatchObject({ maxOfApp: 107_374_182_400, ofStay: 0 });
      const [one, two] = [await begun("s5"), await begun("s5")];
      expect(await store.noteBytes(one.id, 0, 5_000_000_000, 3000)).toBe(true);
      expect(await store.noteBytes(one.id, 1, 7, 3000)).toBe(false);
      expect(await store.upload(A, one.id)).toMatchObject({ bytes: 5_000_000_000, touched: 3000 });
      await store.finish(two.id, 0, 20, 3000);
      expect((await store.stored(A)).uploading).toBe(5_000_000_020);
      expect(await store.bytesUsed(A, "s5")).toMatchObject({
        ofApp: before.ofApp + 5_000_000_020,
        ofStay: 5_000_000_020,
        countOfStay: 2,
        uploadsOfStays: before.uploadsOfStays + 2,
      });
      expect(await store.bytesUsed(A, null)).toMatchObject({ uploadsOfStays: before.uploadsOfStays + 2 });
      await store.complete(two.id, 0, { ...COMPLETION, sizeInBytes: 30, mended: true });
      await store.discardUpload(one.id, 1);
      expect(await store.bytesUsed(A, "s5")).toMatchObject({
        ofApp: before.ofApp + 30,
        ofStay: 30,
        uploadsOfStays: before.uploadsOfStays,
      });
      expect(await store.bytesUsed(A, null)).toMatchObject({ ofApp: before.ofApp + 30, ofStay: 0 });
      expect(await store.bytesUsed(B, "s5")).toMatchObject({ ofApp: 0, ofStay: 0 });
    });

    test("a finished one takes no more bytes, and waits in the order in which it was finished", async () => {
      const [one, two] = [await begun(), await begun()];
      expect(await store.finish(two.id, 1, 10, 4000)).toBeUndefined();
      expect(await store.finish(two.id, 0, 10, 4000)).toMatchObject({ total: 10, bytes: 10, finished: 4000 });
      expect(await store.finish(two.id, 0, 11, 4001)).toBeUndefined();
      await store.finish(one.id, 0, 12, 5000);
      expect(ids(await store.finishedUploads(10))).toEqual([two.id, one.id]);
      expect(ids(await store.finishedUploads(1))).toEqual([two.id]);
      expect(await store.noteBytes(two.id, 0, 99, 6000)).toBe(false);
      expect(await store.touchUpload(two.id, 0, null, 6000)).toBeUndefined();
      expect(await store.upload(A, two.id)).toMatchObject({ finished: 4000, bytes: 10 });
    });

    test("are due when their stay ended long ago or is not known, or when nothing came for long", async () => {
      const enter = async (id: string): Promise<void> => {
        await opened.meetings.enter(entering(id, `room-${id}`), 5, 1000);
      };
      const [open, ended, silent] = [newName(), newName(), newName()];
      for (const id of [open, ended, silent]) await enter(id);
      await opened.meetings.end(ended, "left", 2000);
      await begun(open);
      const due = [await begun(ended), await begun(silent, { touched: 500 }), await begun("unknown")];
      expect(ids(await store.dueStayUploads(2001, 10, 501)).sort()).toEqual(due.map(({ id }) => id).sort());
      expect(ids(await store.dueStayUploads(2000, 10))).toEqual([due[2]?.id ?? ""]);
      expect(await store.dueStayUploads(2001, 1)).toHaveLength(1);
      const all = ids(await store.dueStayUploads(2001, 10, 501));
      expect(ids(await store.dueStayUploads(2001, 10, 501, all[0]))).toEqual(all.slice(1));
      // They are never ended as abandoned: what has come is finished instead.
      expect(await store.uploadsTouchedBefore(1e9, 10)).toEqual([]);
      for (const { id } of due) await store.finish(id, 0, 1, 3000);
      expect(await store.dueStayUploads(2001, 10, 501)).toEqual([]);
    });

    test("each try to mend has a place of its own, and earlier places are removed", async () => {
      const { id } = await finished();
      const open = await begun();
      expect(await store.noteMending(open.id, 0, "early")).toBeUndefined();
      expect(await store.noteMending(id, 0, `${id}-1`)).toMatchObject({ mendedAs: `${id}-1`, tries: 1 });
      expect(await store.noteMending(id, 1, `${id}-x`)).toBeUndefined();
      expect(await store.noteMending(id, 0, `${id}-2`)).toMatchObject({ mendedAs: `${id}-2`, tries: 2 });
      expect(await store.filesToRemove(10)).toEqual([{ app: A, id: `${id}-1` }]);
      expect(await store.knownIds([`${id}-1`, `${id}-2`, "nothing"])).toEqual(
        new Map([
          [`${id}-1`, "upload"],
          [`${id}-2`, "upload"],
        ]),
      );
    });

    test("a mended one is listed with its new file, and its first file is removed", async () => {
      const { id } = await finished();
      await store.noteMending(id, 0, `${id}-m`);
      const row = await store.complete(id, 0, { ...COMPLETION, file: `${id}-m`, mended: true });
      expect(row).toMatchObject({ id, file: `${id}-m`, mended: true });
      expect(await store.recording(A, id)).toEqual(row);
      expect(await store.filesToRemove(10)).toEqual([{ app: A, id }]);
      await store.fileRemoved(A, id);
      expect(await store.knownIds([id, `${id}-m`])).toEqual(
        new Map([
          [id, "recording"],
          [`${id}-m`, "recording"],
        ]),
      );
      expect(await store.deleteRecordings(A, [id])).toEqual([id]);
      expect(await store.filesToRemove(10)).toEqual([{ app: A, id: `${id}-m` }]);
    });

    test("one that cannot be mended is listed as it came, and what mending has begun is removed", async () => {
      const { id } = await finished();
      await store.noteMending(id, 0, `${id}-m`);
      expect(await store.complete(id, 0, { ...COMPLETION, mended: false })).toMatchObject({
        file: null,
        mended: false,
      });
      expect(await store.filesToRemove(10)).toEqual([{ app: A, id: `${id}-m` }]);
      expect(await store.filesToRemove(10, `${id}-m`)).toEqual([]);
    });

    test("one that ends after it was finished leaves both places to remove", async () => {
      const { id } = await finished();
      await store.noteMending(id, 0, `${id}-m`);
      expect(await store.discardUpload(id, 9)).toBe(true);
      expect(ids(await store.filesToRemove(10))).toEqual([id, `${id}-m`]);
      expect(await store.finishedUploads(10)).toEqual([]);
      expect(await store.complete(id, 0, COMPLETION)).toBeUndefined();
    });

    test("recordings of the application's own server have neither", async () => {
      const row = uploadRow(newName());
      await store.addUpload(row, 5);
      expect(await store.complete(row.id, 0, COMPLETION)).toMatchObject({ file: null, mended: null });
      expect(await store.filesToRemove(10)).toEqual([]);
    });
  });
}
