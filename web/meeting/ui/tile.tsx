/** One person, or one screen, on the stage. */
import type { CSSProperties } from "preact";
import type { Quality } from "../call/contract.ts";
import { hueOf, initials } from "../page/names.ts";
import { REACTION_SIGNS } from "../session/reactions.ts";
import type { Tile } from "../session/tiles.ts";
import type { TextKey } from "../texts/en.ts";
import { t } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { Mark } from "./mark.tsx";
import { Video } from "./video.tsx";
import { pinned, useVisit } from "./view.ts";

const QUALITIES: Readonly<Record<Quality, TextKey>> = {
  connecting: "qualityConnecting",
  good: "qualityGood",
  poor: "qualityPoor",
  lost: "qualityLost",
};

const BARS: Readonly<Record<Quality, number>> = { connecting: 1, good: 3, poor: 2, lost: 0 };

/** Reactions that one tile shows. */
const SIGNS_MAX = 5;

interface TileProps {
  readonly tile: Tile;
  readonly size?: CSSProperties;
}

const titleOf = ({ kind, isMe, name }: Tile): string => {
  if (kind === "screen") return t("screenOf", { name });
  return isMe ? t("you") : name;
};

export function TileItem({ tile, size }: TileProps) {
  const { key, kind, name, isMe, isSpeaking, isLost, isUnreached, track, participantSession } = tile;
  const title = titleOf(tile);
  const isScreen = kind === "screen";
  const isPinned = pinned.value === key;
  const pinText = t(isPinned ? "unpin" : "pin", { name: title });
  const classes = ["tile", `hue-${hueOf(participantSession)}`];
  if (isSpeaking) classes.push("speaking");
  if (isScreen) classes.push("tile-screen");
  if (isLost || isUnreached) classes.push("away");
  return (
    <li class={classes.join(" ")} style={size} data-person={participantSession} data-kind={kind}>
      {/* The first picture covers them. */}
      {!isScreen && (
        <span class="initials" aria-hidden="true">
          {initials(name)}
        </span>
      )}
      {track && <Video track={track} isMirrored={isMe && !isScreen} isWhole={isScreen} label={title} />}
      <TileName tile={tile} title={title} />
      {!isScreen && tile.hasHand && (
        <span class="tile-hand" title={t("hasHand")}>
          <Icon name="hand" />
          <span class="hidden-text">{t("hasHand")}</span>
        </span>
      )}
      {!isScreen && <Reactions participantSession={participantSession} />}
      <div class="tile-top">
        <button
          type="button"
          class={isPinned ? "tile-pin pinned" : "tile-pin"}
          aria-label={pinText}
          title={pinText}
          aria-pressed={isPinned}
          onClick={() => (pinned.value = isPinned ? undefined : key)}
        >
          <Icon name="pin" />
        </button>
        {!isMe && !isScreen && <TileBars tile={tile} />}
      </div>
      {(isLost || isUnreached) && <p class="tile-away">{t(isLost ? "isAway" : "isUnreached")}</p>}
    </li>
  );
}

function Reactions({ participantSession }: Pick<Tile, "participantSession">) {
  const { session } = useVisit();
  const shown = session.reactions.value.filter((one) => one.participantSession === participantSession);
  return (
    <span class="tile-reactions" aria-hidden="true">
      {shown.slice(-SIGNS_MAX).map(({ id, name }) => (
        <span key={id}>{REACTION_SIGNS[name]}</span>
      ))}
    </span>
  );
}

function TileName({ tile, title }: { readonly tile: Tile; readonly title: string }) {
  const { kind, isMuted, isMe, isSpeaking } = tile;
  const isScreen = kind === "screen";
  return (
    <div class="tile-name">
      {!isScreen && isMuted && (
        <span class="tile-muted" title={t("isMuted")}>
          <Icon name="microphoneOff" />
          <span class="hidden-text">{t("isMuted")}</span>
        </span>
      )}
      {isScreen && <Icon name="screen" />}
      {isScreen ? <span class="tile-text">{title}</span> : <bdi class="tile-text">{title}</bdi>}
      {!isMe && !isScreen && <Mark {...tile} />}
      {isSpeaking && <span class="hidden-text">{t("isSpeaking")}</span>}
    </div>
  );
}

function TileBars({ tile: { isLost, isUnreached, quality = "connecting" } }: { readonly tile: Tile }) {
  if (isLost) return <Bars quality="lost" text={t("qualityLost")} />;
  return isUnreached ? <Bars quality="lost" text={t("isUnreached")} /> : <Bars quality={quality} />;
}

function Bars({ quality, text = t(QUALITIES[quality]) }: { readonly quality: Quality; readonly text?: string }) {
  return (
    <span class={`bars bars-${quality}`} title={text}>
      {[1, 2, 3].map((bar) => (
        <span key={bar} class={bar <= BARS[quality] ? "bar on" : "bar"} />
      ))}
      <span class="hidden-text">{text}</span>
    </span>
  );
}
