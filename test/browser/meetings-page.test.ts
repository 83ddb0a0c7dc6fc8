/** The page of a meeting, with a real service: from the door to leaving. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { meetingRooms } from "./support/meeting-rooms.ts";

setDefaultTimeout(60_000);

const rooms = meetingRooms();

afterEach(() => rooms().allLeave());

test("two visitors meet: camera, chat, hand, and leaving", async () => {
  const url = await rooms().room();
  const ada = await rooms().visit(url);
  await ada.page.getByText("No one is inside yet.").waitFor();
  await ada.enter("Ada");
  const ben = await rooms().visit(url);
  await ben.page.getByText("One person is inside.").waitFor();
  await ben.enter("Ben");
  await ada.announced("Ben has entered.");
  await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);
  expect(await ada.tile("Ben").getByText("guest").count()).toBe(1);

  await ada.button("Open the chat").click();
  await ada.page.getByLabel("Write a message").fill("See https://example.com/a, not javascript:alert(1)");
  await ada.button("Send").click();
  await ben.button("Open the chat, 1 unread").click();
  const link = ben.page.getByRole("link");
  expect(await link.count()).toBe(1);
  expect(await link.getAttribute("href")).toBe("https://example.com/a");
  expect(await link.getAttribute("rel")).toBe("noopener noreferrer nofollow");

  await ben.button("Raise your hand").click();
  await ada.tile("Ben").getByText("hand raised").waitFor({ state: "attached" });
  await ben.button("Turn the microphone off").click();
  await ada.tile("Ben").getByText("microphone off").waitFor({ state: "attached" });
  await ben.button("Turn the camera off").click();
  await ada.tile("Ben").locator("video").waitFor({ state: "detached" });
  await ben.button("Leave").click();
  await ben.heading("You have left the meeting").waitFor();
  await ada.announced("Ben has left.");
  await ada.page.getByText("You are the only one here.").waitFor();
});
