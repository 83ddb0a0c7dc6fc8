import { expect, test } from "bun:test";
import { followOtherTabs, session, signedIn, signedOutReason } from "./session.ts";

const storageEvent = (key: string, newValue: string | null): Event =>
  Object.assign(new Event("storage"), { key, newValue });

test("signing out in another tab signs this one out too", () => {
  const page = new EventTarget();
  followOtherTabs(page);
  signedIn({ name: "ann", role: "admin", expiresAt: 1 });
  page.dispatchEvent(storageEvent("parley-signed-in", "1"));
  page.dispatchEvent(storageEvent("other", null));
  expect(session.value?.name).toBe("ann");
  page.dispatchEvent(storageEvent("parley-signed-in", null));
  expect([session.value, signedOutReason.value]).toEqual([null, "You signed out in another tab."]);
});
