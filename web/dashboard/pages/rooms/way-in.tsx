/** The ways into a room: its link for guests, the link for hosts, and "Join as host". */
import { nowSeconds } from "../../api/now.ts";
import type { Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { useOrigin } from "../../live/origin.ts";
import { type Audience, audienceOf, type Opening, openingOf, whoCanJoin } from "../../text/room-text.ts";
import { Card } from "../../ui/page.tsx";
import { Copy } from "../../ui/values.tsx";
import { HostLinkToCopy } from "./host-link.tsx";
import { JoinAsHost } from "./join-as-host.tsx";

interface WayInProps {
  readonly app: string;
  readonly room: Room;
  /** The address of the room, which anyone may have. */
  readonly link: string;
}

const TITLES: Readonly<Record<Audience, string>> = {
  anyone: "Link for everyone",
  lobby: "Link for guests",
  invited: "Link of the room",
};

function joining(room: Room, opening: Opening): string {
  if (opening === "over") return "The room is closed: no one can join.";
  return opening === "later" ? `${whoCanJoin(room)} Before it opens, only hosts can join.` : whoCanJoin(room);
}

export const WayIn = ({ app, room, link }: WayInProps) => {
  const docs = useOrigin();
  const opening = openingOf(room, nowSeconds.value);
  return (
    <Card>
      <div class="way-in">
        <div class="room-link">
          <h2>{TITLES[audienceOf(room)]}</h2>
          <p class="row">
            <a class="mono" href={link} target="_blank" rel="noopener noreferrer">
              {link}
            </a>{" "}
            <Copy text={link} what="to the room" label="Copy link" />
          </p>
          <p class="muted">{joining(room, opening)}</p>
          {audienceOf(room) === "invited" && (
            <p class="muted">
              This link alone lets no one in.{" "}
              <a href={`${docs}/docs/rooms#access-tokens`}>Your backend makes an access token</a> for each person, and
              adds it to the link. To send this link as it is, let people ask to join.
            </p>
          )}
        </div>
        {mayChange.value && (
          <>
            {opening !== "over" && <HostLinkToCopy app={app} room={room} />}
            <JoinAsHost app={app} room={room} />
          </>
        )}
      </div>
    </Card>
  );
};
