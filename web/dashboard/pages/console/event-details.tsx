/** Everything that is known about one event, with links to what it names. */
import type { ComponentChildren } from "preact";
import { channelPage, keyPage, keysPage, peerPage, whyNotPage } from "../../address/links.ts";
import { setParameters } from "../../address/router.ts";
import { mayChange } from "../../api/session.ts";
import type { TailEvent } from "../../api/types.ts";
import { patternOf } from "../../drafts/scope.ts";
import { apps, nameOfApp } from "../../live/apps.ts";
import { isMissing } from "../../tail/tail.ts";
import { detailOf, kindText, meaningOf, refusalOf, roleOf } from "../../text/event-text.ts";
import { bytes, clock, day } from "../../text/format.ts";
import { Badge, Copy, Snippet } from "../../ui/values.tsx";

interface EventDetailsProps {
  readonly event: TailEvent;
  readonly onClose: () => void;
  /** The page has filters that "Only this" sets. */
  readonly hasFilters?: boolean;
}

/** Refusals and errors have a code that "Why not?" explains. */
export const whyOf = ({ kind, app, keyId, origin, channel, code, peerId, at }: TailEvent): string | undefined =>
  kind === "refuse" || kind === "error"
    ? whyNotPage(app === undefined ? undefined : nameOfApp(app), {
        key: keyId,
        origin,
        channel,
        code: code === undefined ? undefined : String(code),
        peer: peerId,
        at: String(at),
      })
    : undefined;

/** The focus was in the details: it goes back to the list beside them. */
const focusList = (): void => document.querySelector<HTMLElement>(".events")?.focus();

export function EventDetails({ event, onClose, hasFilters = false }: EventDetailsProps) {
  const { at, kind, channel, peerId, to, keyId, connectionId, nodeId, address, origin, change, code } = event;
  const app = event.app === undefined ? undefined : nameOfApp(event.app);
  const linked = (
    text: string | undefined,
    page: (app: string, name: string) => string,
    filter = "",
  ): ComponentChildren =>
    text !== undefined && (
      <>
        {app === undefined ? (
          <code>{text}</code>
        ) : (
          <a href={page(app, text)}>
            <code>{text}</code>
          </a>
        )}{" "}
        {hasFilters && filter && (
          <button
            type="button"
            class="small only"
            onClick={() => setParameters({ [filter]: filter === "channel" ? patternOf(text) : text })}
          >
            Only this<span class="hidden-text"> {filter}</span>
          </button>
        )}
      </>
    );
  const meaning = kind === "refuse" ? refusalOf(code, peerId) : meaningOf(code);
  const why = whyOf(event);
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    ["Time", `${day(at / 1000)}, ${clock(at)}.${String(at % 1000).padStart(3, "0")}`],
    ["Application", app],
    ["Peer", linked(peerId, peerPage, "peer")],
    ["To", linked(to, peerPage, "peer")],
    ["Channel", linked(channel, channelPage, "channel")],
    ["Change", change],
    ["Key", linked(keyId, keyPage, "key")],
    [
      "Code",
      code !== undefined && (
        <>
          <code>{code}</code>
          {meaning && ` ${meaning}`}
        </>
      ),
    ],
    ["Size", event.bytes !== undefined && bytes(event.bytes)],
    ["Address", address],
    ["Origin", origin && <code>{origin}</code>],
    ["Connection", connectionId && <code>{connectionId}</code>],
    ["Node", nodeId && <code>{nodeId}</code>],
  ];
  return (
    <>
      <div class="card-head">
        <h2>
          <Badge kind={roleOf(kind)}>{kindText(kind)}</Badge>
        </h2>
        <div class="row">
          <Copy text={JSON.stringify(event, null, 2)} what="this event as JSON" label="Copy JSON" />
          <button
            type="button"
            class="small"
            onClick={() => {
              onClose();
              focusList();
            }}
          >
            Close<span class="hidden-text"> the details</span>
          </button>
        </div>
      </div>
      {isMissing(event) && <p>{detailOf(event)}</p>}
      <dl class="facts">
        {facts.map(([name, value]) => value && [<dt key={name}>{name}</dt>, <dd key={`${name}-value`}>{value}</dd>])}
      </dl>
      {why && (
        <p>
          <a href={why}>Why was it refused?</a>
        </p>
      )}
      <Payload event={event} />
    </>
  );
}

function Payload({ event: { kind, app, data, truncated } }: { readonly event: TailEvent }) {
  if (data !== undefined)
    return (
      <>
        <h3>Data{truncated && " (its beginning)"}</h3>
        <Snippet text={truncated ? String(data) : JSON.stringify(data, null, 2)} what="data" />
      </>
    );
  return ["publish", "send", "state"].includes(kind) ? (
    <p class="muted small">{app && <NoPayloads app={app} />}</p>
  ) : null;
}

/** Why payloads are not shown, and where that is changed. `app` is an id. */
export function NoPayloads({ app: id }: { readonly app: string }) {
  const app = apps.value?.find(({ _id }) => _id === id);
  if (!app) return null;
  if (!mayChange.value) return <>Payloads are shown to admins only.</>;
  if (app.consolePayloads) return null;
  return (
    <>
      Payloads of {app.name} are hidden. Turn them on under <a href={keysPage(app.name)}>Keys</a>.
    </>
  );
}
