/** A recording in the dashboard's player. */
import type { Page } from "playwright-core";

const SEEK = `async (part) => {
  const video = document.querySelector("video");
  if (!(video.readyState > 0)) await new Promise((resolve, reject) => {
    video.onloadedmetadata = resolve;
    video.onerror = () => reject(new Error("the player cannot read it: " + video.error?.message));
    video.load();
  });
  if (!Number.isFinite(video.duration)) throw new Error("it has no duration");
  const seeked = new Promise((resolve) => { video.onseeked = resolve; });
  video.currentTime = video.duration * part;
  await seeked;
  if (Math.abs(video.currentTime - video.duration * part) > 0.5) throw new Error("it is at " + video.currentTime);
  return video.duration;
}`;

/** Goes to that part of the recording that the page shows, and returns its duration in seconds. Throws where a player cannot. */
export async function seeksTo(page: Page, part: number): Promise<number> {
  await page.locator("video").waitFor();
  return page.evaluate<number>(`(${SEEK})(${part})`);
}
