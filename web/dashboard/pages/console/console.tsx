/** The live tail: what happens on all nodes as it happens. */
import { useSignal } from "@preact/signals";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { currentApp, nameOfApp } from "../../live/apps.ts";
import { useDelayed } from "../../live/live.ts";
import { type KeptEvent, searched } from "../../tail/tail.ts";
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
  const tail = useTail(filter);
  const selected = useSignal<KeptEvent | undefined>(undefined);
  const search = parameters.value.get("search") ?? "";
  const events = searched(tail.events.value, search);
  const kept = tail.events.value.length;
  return (
    <Page title="Console" actions={<TailStatus tail={tail} />}>
      <ConsoleFilters />
      <div role="alert">{tail.state.value === "refused" && <Notice kind="bad">{tail.refusal.value}</Notice>}</div>
      <div class="toolbar">
        <TailButtons tail={tail} />
        <Copy text={() => jsonOf(events)} what="all shown events as JSON" label="Copy all" />
        <Search label="Search in what is shown" value={search} onInput={(value) => setParameters({ search: value })} />
        <span class="muted small event-count">
          {search
            ? `${whole(events.length)} of ${whole(kept)} events`
            : `${whole(kept)} ${kept === 1 ? "event" : "events"}`}
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
            empty={<NoEvents isSearch={kept > 0} isNone={filter.kinds?.length === 0} />}
          />
        </section>
        {selected.value && (
          <section class="card details" aria-label="Details of the event">
            <EventDetails event={selected.value.event} hasFilters onClose={() => (selected.value = undefined)} />
          </section>
        )}
      </div>
    </Page>
  );
}

function NoEvents({ isSearch, isNone }: { readonly isSearch: boolean; readonly isNone: boolean }) {
  if (isSearch) return <Empty title="No event here contains this text." />;
  if (isNone) return <Empty title="No kind of event is chosen.">Choose at least one above.</Empty>;
  return (
    <Empty title="Nothing has happened yet.">
      Connects, refusals, subscriptions, messages and errors appear here from now on. Nothing is kept before this page
      was open.
    </Empty>
  );
}
