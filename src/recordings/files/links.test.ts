import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { anAppId } from "../../base/testing/ids.ts";
import { type FileLink, Links } from "./links.ts";

const links = new Links(randomBytes(32));
const LINK: FileLink = {
  app: anAppId("a".repeat(24)),
  recording: "b".repeat(24),
  disposition: "view",
  expires: 1_800_000_000,
};

test("a link with its own proof is accepted", () => {
  expect(links.isFileProof(LINK, links.fileProof(LINK))).toBe(true);
  expect(links.isUploadProof(LINK.app, LINK.recording, links.uploadProof(LINK.app, LINK.recording))).toBe(true);
});

test.each<Partial<FileLink>>([
  { app: anAppId("c".repeat(24)) },
  { recording: "c".repeat(24) },
  { disposition: "download" },
  { expires: LINK.expires + 1 },
])("a link with another %j needs another proof", (change) => {
  expect(links.isFileProof({ ...LINK, ...change }, links.fileProof(LINK))).toBe(false);
});

test("a proof is valid neither for another kind of link nor in another installation", () => {
  expect(links.isUploadProof(LINK.app, LINK.recording, links.fileProof(LINK))).toBe(false);
  expect(links.isFileProof(LINK, links.uploadProof(LINK.app, LINK.recording))).toBe(false);
  expect(links.isFileProof(LINK, new Links(randomBytes(32)).fileProof(LINK))).toBe(false);
});

test("a proof with any character changed is refused", () => {
  const proof = links.fileProof(LINK);
  for (let at = 0; at < proof.length; at++)
    for (const other of ["A", "B", "0", "_", "-", "=", " ", "é", ""]) {
      const changed = proof.slice(0, at) + other + proof.slice(at + 1);
      expect([changed, links.isFileProof(LINK, changed)]).toEqual([changed, changed === proof]);
    }
  for (const wrong of ["", `${proof}A`, `${proof}=`, proof.slice(1), proof.toLowerCase(), "x".repeat(1e6)])
    expect(links.isFileProof(LINK, wrong)).toBe(false);
});
