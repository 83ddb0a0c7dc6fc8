/** Who spoke when, as a list. Each line leads there. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { MeetingPlayer } from "../../playback/meeting-player.ts";
import { startOfTurn, type Timeline, type Turn, turnsOf } from "../../playback/timeline.ts";
import { clock, duration, whole } from "../../text/format.ts";
import { type Column, Table } from "../../ui/table.tsx";

interface TurnsProps {
  readonly timeline: Timeline;
  readonly player: MeetingPlayer;
}

export function Turns({ timeline, player }: TurnsProps) {
  const turns = useMemo(() => turnsOf(timeline.lanes), [timeline]);
  // Decided once: on a phone the list would be longer than the rest of the page.
  const isOpen = useSignal(matchMedia("(min-width: 48rem)").matches).value;
  const columns: readonly Column<Turn>[] = [
    {
      title: "At",
      rem: 6.5,
      cell: (turn) => {
        const at = clock(timeline.startMs + turn.from);
        const go = (): void => player.seek(startOfTurn(turn), turn.lane.id);
        return (
          <button type="button" class="link-button" aria-label={`Go to ${at}, ${turn.lane.name}`} onClick={go}>
            {at}
          </button>
        );
      },
    },
    { title: "Who", cell: ({ lane }) => <span class="name">{lane.name}</span> },
    {
      title: "Spoke",
      rem: 7,
      isNumber: true,
      cell: ({ from, to }) => duration(Math.max(1, (to - from) / 1000)),
    },
  ];
  if (turns.length === 0) return null;
  return (
    <details class="turns" open={isOpen}>
      <summary>
        <strong>Who spoke when</strong> <span class="muted small">{whole(turns.length)}</span>
      </summary>
      <Table
        label="Who spoke when"
        isVirtual
        columns={columns}
        rows={turns}
        keyOf={({ lane, from }) => `${lane.id} ${from}`}
        empty={null}
      />
    </details>
  );
}
