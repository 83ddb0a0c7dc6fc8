/** "Join as host": opens the room in a tab, as an admin. */
import { useSignal } from "@preact/signals";
import { nowSeconds } from "../../api/now.ts";
import type { Room } from "../../api/room-types.ts";
import { hostLink } from "../../live/meetings.ts";
import { type Opening, openingOf } from "../../text/room-text.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { messageOf, toast } from "../../ui/notice.tsx";

/** Whether one can join as host now, and what that means. */
const MEANINGS: Readonly<Record<Opening, string>> = {
  over: "The room is closed: change its schedule first.",
  later: "You can try the room before it opens. Others have to wait until then.",
  now: "Hosts let people in, mute or remove them, and end the meeting.",
  always: "Hosts let people in, mute or remove them, and end the meeting.",
};

interface HostProps {
  readonly app: string;
  readonly room: Room;
}

export function JoinAsHost({ app, room }: HostProps) {
  const opening = openingOf(room, nowSeconds.value);
  return (
    <div class="join-as-host">
      <HostButton app={app} room={room} class="primary" describedBy="join-as-host" isDisabled={opening === "over"}>
        Join as host
      </HostButton>
      <p id="join-as-host" class="muted small">
        {MEANINGS[opening]}
      </p>
    </div>
  );
}

interface HostButtonProps extends HostProps {
  readonly class: string;
  readonly describedBy?: string;
  readonly isDisabled?: boolean;
  readonly children: string;
}

export function HostButton({ app, room, describedBy, isDisabled, children, ...rest }: HostButtonProps) {
  /** The browser has not opened a tab: a link is offered. */
  const blocked = useSignal<string | undefined>(undefined);
  const join = async (): Promise<void> => {
    // In the click itself: browsers block tabs that are opened later.
    const tab = window.open("", "_blank");
    try {
      const { url } = await hostLink(app, room.roomName);
      if (tab && !tab.closed) {
        tab.opener = null;
        tab.location.replace(url);
      } else blocked.value = url;
    } catch (error) {
      tab?.close();
      toast(messageOf(error), "bad");
    }
  };
  const close = (): void => {
    blocked.value = undefined;
  };
  return (
    <>
      <button
        type="button"
        class={rest.class}
        disabled={isDisabled === true}
        aria-describedby={describedBy}
        onClick={join}
      >
        {children}
      </button>
      {blocked.value !== undefined && (
        <Dialog title={`Join ${room.roomName} as host`} onClose={close}>
          <div class="form">
            <p>Your browser did not open a tab for the meeting.</p>
            <div class="form-actions">
              <button type="button" onClick={close}>
                Cancel
              </button>
              <a class="button primary" href={blocked.value} target="_blank" rel="noopener noreferrer" onClick={close}>
                Join now
              </a>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}
