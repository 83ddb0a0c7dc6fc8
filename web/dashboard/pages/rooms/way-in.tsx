/** The way into a room: its link for everyone, and "Join as host". */
import { nowSeconds } from "../../api/now.ts";
import type { Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { openingOf, whoCanJoin } from "../../text/room-text.ts";
import { Card } from "../../ui/page.tsx";
import { Copy } from "../../ui/values.tsx";
import { JoinAsHost } from "./host-link.tsx";

interface WayInProps {
  readonly app: string;
  readonly room: Room;
  /** The address of the room, which anyone may have. */
  readonly link: string;
}

export const WayIn = ({ app, room, link }: WayInProps) => (
  <Card>
    <div class="way-in">
      <div class="room-link">
        <h2>Link for everyone</h2>
        <p class="row">
          <a class="mono" href={link} target="_blank" rel="noopener noreferrer">
            {link}
          </a>{" "}
          <Copy text={link} what="to the room" label="Copy link" />
        </p>
        <p class="muted">
          {openingOf(room, nowSeconds.value) === "over" ? "The room is closed: no one can join." : whoCanJoin(room)}
        </p>
      </div>
      {mayChange.value && <JoinAsHost app={app} room={room} />}
    </div>
  </Card>
);
