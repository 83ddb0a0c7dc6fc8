/** All tiles: of one size, or one large and the others beside it. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { focusOf, gridSize, type Tile, tilesOf } from "../session/tiles.ts";
import { t } from "../texts/texts.ts";
import { Alone } from "./invite.tsx";
import { TileItem } from "./tile.tsx";
import { layout, pinned, useVisit } from "./view.ts";

const GAP_PX = 12;

export function Stage() {
  const { session, media } = useVisit();
  const lastSpeaker = useRef<string | undefined>(undefined);
  const speaker = session.speaker.value;
  if (speaker !== undefined) lastSpeaker.current = speaker;
  const tiles = tilesOf({
    me: session.me.value,
    people: session.people.value,
    tracks: session.tracks.value,
    own: media.tracks.value,
    isOwnAudioOn: media.isOn.value.audio,
    isHandUp: session.isHandUp.value,
    speaker,
    qualities: session.qualities.value,
    unreached: session.unreached.value,
  });
  const view = { pinned: pinned.value, layout: layout.value, lastSpeaker: lastSpeaker.current };
  const focus = focusOf(tiles, view);
  const isGone = pinned.value !== undefined && !tiles.some(({ key }) => key === pinned.value);
  useEffect(() => {
    if (isGone) pinned.value = undefined;
  }, [isGone]);
  return (
    <section class={session.people.value.length === 0 ? "stage stage-alone" : "stage"} aria-label={t("people")}>
      {session.people.value.length === 0 && <Alone />}
      {focus ? <Focused focus={focus} tiles={tiles} /> : <Grid tiles={tiles} />}
    </section>
  );
}

function Grid({ tiles }: { readonly tiles: readonly Tile[] }) {
  const list = useRef<HTMLUListElement>(null);
  const space = useSignal({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    const measure = (): void => {
      space.value = { width: element.clientWidth, height: element.clientHeight };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { width, height } = gridSize(tiles.length, space.value.width, space.value.height, GAP_PX);
  return (
    <ul class="grid" ref={list}>
      {tiles.map((tile) => (
        <TileItem key={tile.key} tile={tile} size={{ width: `${width}px`, height: `${height}px` }} />
      ))}
    </ul>
  );
}

function Focused({ focus, tiles }: { readonly focus: Tile; readonly tiles: readonly Tile[] }) {
  const others = tiles.filter(({ key }) => key !== focus.key);
  return (
    <div class="focused">
      <ul class="focus">
        <TileItem key={focus.key} tile={focus} />
      </ul>
      {others.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard.
        <ul class="strip" tabIndex={0} aria-label={t("people")}>
          {others.map((tile) => (
            <TileItem key={tile.key} tile={tile} />
          ))}
        </ul>
      )}
    </div>
  );
}
