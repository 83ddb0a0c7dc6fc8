/** A link for hosts: each holder joins as an admin of the room, until the meeting is over. */
import { useSignal } from "@preact/signals";
import { nowSeconds } from "../../api/now.ts";
import type { Room } from "../../api/room-types.ts";
import { hostLink } from "../../live/meetings.ts";
import { appointment } from "../../text/format.ts";
import { hostLinkUntil, openingOf, timesOf } from "../../text/room-text.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { messageOf, toast } from "../../ui/notice.tsx";
import { Snippet } from "../../ui/values.tsx";

const DAY_SEC = 86_400;
/** For rooms without an end; in seconds. */
const CHOICES = [
  [15 * 60, "15 min"],
  [DAY_SEC, "1 day"],
  [7 * DAY_SEC, "7 days"],
] as const;

interface HostLinkProps {
  readonly app: string;
  readonly room: Room;
}

const COPIED_MS = 1500;

export function HostLinkToCopy({ app, room }: HostLinkProps) {
  const forSec = useSignal<number>(DAY_SEC);
  const isCopied = useSignal(false);
  /** The browser does not allow copying: it is shown. */
  const shown = useSignal<string | undefined>(undefined);
  const now = nowSeconds.value;
  const until = hostLinkUntil(room, now, forSec.value);
  const { closes } = timesOf(room);
  const copy = async (): Promise<void> => {
    const made = hostLink(
      app,
      room.roomName,
      hostLinkUntil(room, nowSeconds.peek(), forSec.peek()) - Math.floor(nowSeconds.peek()),
    );
    try {
      await copyLater(made.then(({ url }) => url));
      isCopied.value = true;
      setTimeout(() => {
        isCopied.value = false;
      }, COPIED_MS);
    } catch {
      await made.then(
        ({ url }) => (shown.value = url),
        (error) => toast(messageOf(error), "bad"),
      );
    }
  };
  return (
    <div class="room-link">
      <h2>Host link</h2>
      <div class="row">
        {closes === undefined && (
          <select
            class="small"
            aria-label="The host link is valid for"
            value={forSec.value}
            onChange={(event) => (forSec.value = Number(event.currentTarget.value))}
          >
            {CHOICES.map(([seconds, text]) => (
              <option key={seconds} value={seconds}>
                {openingOf(room, now) === "later" ? `${text} after it opens` : text}
              </option>
            ))}
          </select>
        )}
        <button type="button" class="small copy" aria-describedby="host-link-meaning" onClick={copy}>
          <span aria-live="polite">{isCopied.value ? "Copied" : "Copy host link"}</span>
        </button>
      </div>
      <p id="host-link-meaning" class="muted">
        {closes === until ? "Valid until the room closes, " : "Valid until "}
        {appointment(until)}. Anyone who has it is a host.
      </p>
      {shown.value !== undefined && (
        <Dialog title={`Host link of ${room.roomName}`} onClose={() => (shown.value = undefined)}>
          <div class="form">
            <p>This browser does not allow copying here: select the link and copy it yourself.</p>
            <Snippet text={shown.value} what="host link" />
            <div class="form-actions">
              <button type="button" onClick={() => (shown.value = undefined)}>
                Close
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** Safari allows copying only in the click itself: it gets the promise of the text. */
async function copyLater(text: Promise<string>): Promise<void> {
  const blob = text.then((value) => new Blob([value], { type: "text/plain" }));
  if (typeof ClipboardItem === "undefined") await navigator.clipboard.writeText(await text);
  else await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}
