/** The filters of the console. They are in the address, so that a view can be sent to a colleague. */
import { useMemo } from "preact/hooks";
import { parameters, setParameters } from "../../address/router.ts";
import { apps, currentApp } from "../../live/apps.ts";
import type { TailFilter } from "../../tail/tail.ts";
import { Select, Text } from "../../ui/fields.tsx";

const TEXTS = ["channel", "peer", "key"] as const;
const NO_FILTERS = { app: "", channel: "", peer: "", key: "" };

/** `app` is the id of the page's application. */
export function filterOf(given: URLSearchParams, app: string | undefined): TailFilter {
  const [channel, peer, key] = TEXTS.map((name) => given.get(name)?.trim() || undefined);
  const named = given.get("app") || undefined;
  // The service refuses a name that it does not know, too.
  const chosen = apps.value?.find(({ name }) => name === named)?._id ?? named;
  return { app: app ?? chosen, channel, peer, key };
}

export function ConsoleFilters() {
  const given = parameters.value;
  const set = (name: string) => (value: string) => setParameters({ [name]: value });
  const isFiltered = Object.keys(NO_FILTERS).some((name) => given.has(name));
  // Open where there is room for it, or if a filter is set; later the reader decides.
  const isOpen = useMemo(() => innerWidth > 768 || isFiltered, []);
  return (
    <details class="card tail-filters" open={isOpen}>
      <summary>Filters</summary>
      <div class="filter-fields">
        {!currentApp.value && (
          <Select
            label="Application"
            value={given.get("app") ?? ""}
            options={[["", "All"], ...(apps.value ?? []).map(({ name }) => [name, name] as const)]}
            onChange={set("app")}
          />
        )}
        <Text label="Channel" placeholder="chat/*" value={given.get("channel") ?? ""} onInput={set("channel")} />
        <Text label="Peer" placeholder="alice or user-*" value={given.get("peer") ?? ""} onInput={set("peer")} />
        <Text label="Key" placeholder="Key id" value={given.get("key") ?? ""} onInput={set("key")} />
      </div>
      {isFiltered && (
        <button type="button" class="small" onClick={() => setParameters(NO_FILTERS)}>
          Reset filters
        </button>
      )}
    </details>
  );
}
