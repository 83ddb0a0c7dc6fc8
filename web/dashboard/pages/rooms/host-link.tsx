/** "Join as host": a link that makes its holder an admin of the room. */
import { useSignal } from "@preact/signals";
import type { HostLink } from "../../api/room-types.ts";
import { hostLink } from "../../live/meetings.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { messageOf, toast } from "../../ui/notice.tsx";
import { Copy, Time } from "../../ui/values.tsx";

export function JoinAsHost({ app, room }: { readonly app: string; readonly room: string }) {
  const made = useSignal<HostLink | undefined>(undefined);
  const make = async (): Promise<void> => {
    try {
      made.value = await hostLink(app, room);
    } catch (error) {
      toast(messageOf(error), "bad");
    }
  };
  const close = (): void => {
    made.value = undefined;
  };
  return (
    <>
      <button type="button" class="primary" onClick={make}>
        Join as host
      </button>
      {made.value && (
        <Dialog title={`Join ${room} as host`} onClose={close}>
          <div class="form">
            <p>
              This link lets its holder in as an admin of the meeting: it expires <Time at={made.value.expiresAt} />,
              and people who are inside by then stay. Keep it to yourself; others get the plain link.
            </p>
            <div class="form-actions">
              <button type="button" onClick={close}>
                Cancel
              </button>
              <Copy text={made.value.url} what="link for the host" label="Copy link" />
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
