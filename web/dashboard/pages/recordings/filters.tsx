/** Every filter of the list of recordings. */
import { useSignal } from "@preact/signals";
import { parameters, setParameters } from "../../address/router.ts";
import { FILTERS, type Filter, filterOf, filters, RECORDING_TYPES } from "../../live/recordings.ts";
import { fromLocalInput, toLocalInput } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { Select, Text } from "../../ui/fields.tsx";

const TYPES = [["", "every type"], ...RECORDING_TYPES.map((type) => [type, type] as const)] as const;
const ORDERS = [
  ["", "last completed first"],
  ["asc", "first completed first"],
] as const;

interface RecordingFiltersProps {
  /** undefined: the filter has its name, or there is none. */
  readonly roomName: string | undefined;
}

export function RecordingFilters({ roomName }: RecordingFiltersProps) {
  const order = parameters.value.get("order") === "asc" ? "asc" : "";
  const type = RECORDING_TYPES.find((one) => one === filterOf("type")) ?? "";
  const count = Object.keys(filters()).length;
  // Decided once: on a narrow screen the fields would push the list out of view.
  const isOpen = useSignal(count > 0 || matchMedia("(min-width: 48rem)").matches).value;
  return (
    <search>
      <details open={isOpen}>
        <summary>
          <strong>Filters</strong> <span class="muted">{count > 0 && `${count} set`}</span>
        </summary>
        <div class="filter-grid">
          <TextFilter
            name="room"
            label="Room"
            placeholder="id or name"
            help={roomName && `ID of ${inText(roomName)}`}
          />
          <TextFilter name="participantUsername" label="Participant" placeholder="alice" />
          <Select label="Type" value={type} options={TYPES} onChange={(value) => setParameters({ type: value })} />
          <TimeFilter name="startedAfter" label="Started at or after" />
          <TimeFilter name="startedBefore" label="Started before" />
          <TextFilter name="meetingSession" label="Meeting session" />
          <TextFilter name="participantSession" label="Participant session" />
          <Select label="Order" value={order} options={ORDERS} onChange={(value) => setParameters({ order: value })} />
          <button
            type="button"
            class="quiet"
            disabled={count === 0}
            onClick={() => setParameters(Object.fromEntries(FILTERS.map((name) => [name, ""])))}
          >
            Clear filters
          </button>
        </div>
      </details>
    </search>
  );
}

interface FilterProps {
  readonly name: Filter;
  readonly label: string;
  readonly placeholder?: string;
  readonly help?: string | undefined;
}

const TextFilter = ({ name, ...rest }: FilterProps) => (
  <Text {...rest} value={filterOf(name)} onInput={(value) => setParameters({ [name]: value.trim() })} />
);

/** In the address it is Unix seconds, as in the call. */
const TimeFilter = ({ name, ...rest }: FilterProps) => {
  const seconds = Number(filterOf(name));
  return (
    <Text
      {...rest}
      type="datetime-local"
      step={1}
      value={seconds > 0 ? toLocalInput(seconds) : ""}
      onInput={(value) => setParameters({ [name]: String(fromLocalInput(value) ?? "") })}
    />
  );
};
