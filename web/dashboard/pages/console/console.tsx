/** The live tail: what happens on all nodes as it happens. */
import { useMemo } from "preact/hooks";
import { refusalsPage } from "../../address/links.ts";
import { isReturned, type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { currentApp, nameOfApp } from "../../live/apps.ts";
import { useDelayed } from "../../live/live.ts";
import { keptTail } from "../../tail/kept-tail.ts";
import { type KeptEvent, searched, TAIL_KINDS } from "../../tail/tail.ts";
import { useTail } from "../../tail/use-tail.ts";
import { whole } from "../../text/format.ts";
import { EventList } from "../../ui/event-list.tsx";
import { Search } from "../../ui/fields.tsx";
import { Empty, Notice } from "../../ui/notice.tsx";
import { Page } from "../../ui/page.tsx";
import { TailButtons, TailStatus } from "../../ui/tail-state.tsx";
import { Copy } from "../../ui/values.tsx";
import { EventDetails, whyOf } from "./event-details.tsx";
import { ConsoleFilters, filterOf } from "./filters.tsx";
import { hiddenCount, hiddenKinds, Kinds } from "./kinds.tsx";

/** One event per line. */
const jsonOf = (events: readonly KeptEvent[]): string =>
  `[\n${events.map(({ event }) => JSON.stringify(event)).join(",\n")}\n]`;

const whyLink = ({ event }: KeptEvent) => {
  const why = whyOf(event);
  return why && <a href={why}>Why?</a>;
};

export function Console(_: { readonly at: PageParameters }) {
  const delayed = useDelayed({ value: parameters.value.toString() }, 300);
  const filter = filterOf(new URLSearchParams(delayed), currentApp.value?._id);
  const hidden = hiddenKinds(parameters.value);
  const { tail, selected } = useMemo(() => keptTail(currentApp.value?._id, isReturned()), []);
  useTail(filter, hidden, tail);
  const search = parameters.value.get("search") ?? "";
  const events = searched(tail.events.value, search);
  const count = tail.events.value.length;
  return (
    <Page title="Console" mark={<TailStatus tail={tail} />}>
      <ConsoleFilters />
      <Kinds tail={tail} />
      <div role="alert">{tail.state.value === "refused" && <Notice kind="bad">{tail.refusal.value}</Notice>}</div>
      <div class="toolbar">
        <TailButtons tail={tail} />
        <Copy text={() => jsonOf(events)} what="all shown events as JSON" label="Copy all" />
        <Search label="Search these events" value={search} onInput={(value) => setParameters({ search: value })} />
        <span class="muted small event-count">
          {[
            search
              ? `${whole(events.length)} of ${whole(count)} events`
              : `${whole(count)} ${count === 1 ? "event" : "events"}`,
            hiddenCount(tail, hidden),
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </div>
      <div class={`console ${selected.value ? "open" : ""}`}>
        <section class="card" aria-label="Events">
          <EventList
            label="Events, newest last; the arrow keys choose one"
            events={events}
            tail={tail}
            selected={selected.value}
            onSelect={(chosen) => (selected.value = chosen)}
            nameOfApp={currentApp.value ? undefined : nameOfApp}
            linkOf={whyLink}
            empty={<NoEvents isSearch={count > 0} isNone={hidden.length === TAIL_KINDS.length} />}
          />
        </section>
        {selected.value && (
          <section class="card details" aria-label="Details of the event">
            <EventDetails event={selected.value.event} hasFilters onClose={() => (selected.value = undefined)} />
          </section>
        )}
      </div>
      {currentApp.value && (
        <p class="muted small">
          Connects with unknown credentials belong to no application:{" "}
          <a href={refusalsPage(undefined, { credentials: "unknown" })}>see those of the last 24 hours</a>.
        </p>
      )}
    </Page>
  );
}

function NoEvents({ isSearch, isNone }: { readonly isSearch: boolean; readonly isNone: boolean }) {
  if (isSearch) return <Empty title="No matching events" />;
  if (isNone) return <Empty title="All kinds are hidden">Select at least one above.</Empty>;
  return (
    <Empty title="Waiting for events">
      Connects, refusals, messages and errors appear here as they happen, while this page is open. Earlier refusals are
      on the <a href={refusalsPage(currentApp.value?.name)}>Refusals page</a>.
    </Empty>
  );
}
