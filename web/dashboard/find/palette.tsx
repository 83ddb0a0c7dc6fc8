/** The command palette: pages, actions, applications, and the keys, channels, peers and rooms of the current application. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { focusOn, stopAt } from "../../focus/focus.ts";
import { channelPage, keyPage, peerPage, refusalsPage, roomPage, streamPage } from "../address/links.ts";
import { BASE, navigate } from "../address/router.ts";
import type { App } from "../api/types.ts";
import { appName, apps, currentApp } from "../live/apps.ts";
import { useDelayed } from "../live/live.ts";
import { type Pick, Picker } from "../ui/picker.tsx";
import { type Action, actions } from "./actions.ts";
import { useFound, useKeys } from "./found.ts";
import { matches } from "./matches.ts";
import { isPaletteOpen, takeTypedAhead } from "./palette-open.ts";
import { isAlso, OF_APP, OF_SERVICE, OPERATE } from "./places.ts";
import { type Recent, recent, remember } from "./recent.ts";

/** Entries of each kind. */
const SHOWN_MAX = 6;
const close = (): void => {
  isPaletteOpen.value = false;
};

export function Palette() {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = stopAt(document.activeElement);
    element.current?.showModal();
    return () => {
      element.current?.close();
      if (before) focusOn(before);
    };
  }, []);
  return (
    <dialog
      ref={element}
      class="dialog palette"
      aria-label="Search everything"
      onClose={close}
      // What is below it, and nothing inside it.
      onMouseDown={(event) => event.target === element.current && close()}
    >
      <Search />
    </dialog>
  );
}

interface Place extends Recent {
  readonly group: string;
}

/** Addresses of links.ts are whole; `navigate` takes what is below /dashboard. */
const below = (address: string): string => address.slice(BASE.length);

/** Without a choice it is the one that is meant. */
const onlyApp = (): App | undefined => (apps.value?.length === 1 ? apps.value[0] : undefined);

function pages(): readonly Place[] {
  const app = currentApp.value ? appName.value : onlyApp()?.name;
  const ofApp = app === undefined ? [] : OF_APP.flatMap(({ entries }) => entries);
  return [
    ...ofApp.map(({ title, to }) => ({ title, detail: app ?? "", to: `/apps/${encodeURIComponent(app ?? "")}${to}` })),
    ...[...OF_SERVICE, OPERATE].flatMap(({ entries }) => entries).map((one) => ({ ...one, detail: "service" })),
  ].map((one) => ({ ...one, group: "Pages" }));
}

const pickOf = (place: Place): Pick => ({
  id: `${place.group} ${place.to}`,
  title: place.title,
  detail: place.detail,
  group: place.group,
  choose: () => {
    remember(place);
    close();
    navigate(place.to);
  },
});

const actionPick = ({ title, detail, run }: Action): Pick => ({
  id: `Actions ${title}`,
  title,
  detail,
  group: "Actions",
  choose: () => {
    close();
    run();
  },
});

function Search() {
  const typed = useSignal(useMemo(takeTypedAhead, []));
  const wanted = typed.value.trim();
  const delayed = useDelayed({ value: wanted });
  const app = currentApp.value ?? onlyApp();
  const keys = useKeys(app);
  const { of, found, problem } = useFound(app, delayed);
  const name = app?.name ?? "";
  const isSearching = wanted !== "" && app !== undefined && of !== wanted;
  const top = <T,>(all: readonly T[], nameOf: (one: T) => string): readonly T[] =>
    matches(all, wanted, nameOf).slice(0, SHOWN_MAX);
  const things: readonly Place[] =
    wanted === ""
      ? []
      : [
          ...top(keys, ({ label, keyId }) => `${label ?? ""} ${keyId}`).map(({ keyId, label }) => ({
            title: label ?? keyId,
            detail: `key of ${name}`,
            to: below(keyPage(name, keyId)),
            group: "Keys",
          })),
          ...found.channels.map(({ channel }) => ({
            title: channel,
            detail: `channel of ${name}`,
            to: below(channelPage(name, channel)),
            group: "Channels",
          })),
          ...found.peers.map((peer) => ({
            title: peer.name ?? peer.peerId,
            detail: `${peer.name === undefined || peer.name === peer.peerId ? "" : `${peer.peerId} · `}peer of ${name}`,
            to: below(peerPage(name, peer.peerId)),
            group: "Peers",
          })),
          ...found.streams.map(({ channel }) => ({
            title: channel,
            detail: `stream of ${name}`,
            to: below(streamPage(name, channel)),
            group: "Streams",
          })),
          ...found.rooms.map(({ roomName }) => ({
            title: roomName,
            detail: `room of ${name}`,
            to: below(roomPage(name, roomName)),
            group: "Rooms",
          })),
        ];
  const applications = top(apps.value ?? [], (one) => one.name).map((one) => ({
    title: one.name,
    detail: "application",
    to: `/apps/${encodeURIComponent(one.name)}`,
    group: "Applications",
  }));
  const lately = wanted === "" ? recent().map((one) => ({ ...one, group: "Recent" })) : [];
  const places = pages();
  const pageList = matches(places, wanted, ({ title }) => title);
  // Below the pages and actions whose titles have it: people who know a title type that.
  const related = places
    .filter((one) => !pageList.includes(one) && isAlso(one.title, wanted))
    .map((one) => ({ ...one, group: "Related pages" }));
  const hits = [
    ...[...lately, ...pageList].map(pickOf),
    ...matches(actions(app), wanted, ({ title }) => title).map(actionPick),
    ...related.map(pickOf),
    ...[...(wanted === "" ? [] : applications), ...things].map(pickOf),
  ];
  // What is looked for and not found may be a client that cannot connect.
  const isNowhere = hits.length === 0 && app !== undefined && !isSearching && problem === "";
  const picks = isNowhere ? [pickOf(refusalsOf(name))] : hits;
  return (
    <>
      <Picker
        label="Search everything"
        placeholder={
          app ? "Pages, actions, applications, keys, channels, peers, rooms" : "Pages, actions and applications"
        }
        value={typed.value}
        onInput={(value) => (typed.value = value)}
        picks={picks}
        note={noteOf({ isSearching, problem, hasApp: app !== undefined, count: hits.length, wanted })}
      />
      <button type="button" class="small palette-close" onClick={close}>
        Close
      </button>
    </>
  );
}

const refusalsOf = (app: string): Place => ({
  title: "Refusals",
  detail: "clients that could not connect",
  to: below(refusalsPage(app)),
  group: "Not found. Look here next",
});

interface State {
  readonly isSearching: boolean;
  readonly problem: string;
  readonly hasApp: boolean;
  readonly count: number;
  readonly wanted: string;
}

function noteOf({ isSearching, problem, hasApp, count, wanted }: State): string {
  if (isSearching) return "Searching …";
  if (problem) return problem;
  const nothing = wanted !== "" && count === 0 ? "Nothing found. " : "";
  if (!hasApp) return `${nothing}To find keys, channels, peers and rooms, choose an application first.`;
  return nothing && "Nothing found. Channels and peers are found only while they are in use.";
}
