/** What has just happened: shown for a while, and read aloud. */
import { announcements } from "../page/announce.ts";

export function Announcements() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {announcements.value.map(({ id, text, isHidden }) => (
        <p key={id} class={isHidden ? "hidden-text" : "toast"}>
          {text}
        </p>
      ))}
    </div>
  );
}
