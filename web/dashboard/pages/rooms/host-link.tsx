/** "Join as host": a link that makes its holder an admin of the room. */
import { useSignal } from "@preact/signals";
import { nowSeconds } from "../../api/now.ts";
import type { HostLink, Room } from "../../api/room-types.ts";
import { hostLink } from "../../live/meetings.ts";
import { type Opening, openingOf } from "../../text/room-text.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { messageOf, toast } from "../../ui/notice.tsx";
import { Copy, Time } from "../../ui/values.tsx";

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

/** Makes the link, and shows it. */
export function HostButton({ app, room, describedBy, isDisabled, children, ...rest }: HostButtonProps) {
  const made = useSignal<HostLink | undefined>(undefined);
  const make = async (): Promise<void> => {
    try {
      made.value = await hostLink(app, room.roomName);
    } catch (error) {
      toast(messageOf(error), "bad");
    }
  };
  const close = (): void => {
    made.value = undefined;
  };
  return (
    <>
      <button
        type="button"
        class={rest.class}
        disabled={isDisabled === true}
        aria-describedby={describedBy}
        onClick={make}
      >
        {children}
      </button>
      {made.value && (
        <Dialog title={`Join ${room.roomName} as host`} onClose={close}>
          <div class="form">
            <p>
              This link makes you a host. It expires <Time at={made.value.expiresAt} />; once inside, you stay. Keep it
              to yourself, and give others the plain link.
            </p>
            <div class="form-actions">
              <button type="button" onClick={close}>
                Cancel
              </button>
              <Copy text={made.value.url} what="link for the host" label="Copy host link" />
              <a class="button primary" href={made.value.url} target="_blank" rel="noopener noreferrer" onClick={close}>
                Open the room
              </a>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}
