/** How long each person of a meeting spoke, by what their recordings say. */
import { playbackPage } from "../../address/links.ts";
import type { Recording } from "../../api/room-types.ts";
import { duration } from "../../text/format.ts";
import { Bar } from "../../ui/bar.tsx";
import { Card } from "../../ui/page.tsx";

interface WhoSpokeProps {
  readonly app: string;
  readonly meeting: string;
  readonly rows: readonly Recording[];
  /** These are not all. */
  readonly hasMore: boolean;
}

interface Spoke {
  readonly id: string;
  readonly name: string;
  /** undefined: not measured. */
  ms: number | undefined;
}

export function WhoSpoke({ app, meeting, rows, hasMore }: WhoSpokeProps) {
  const all = spokeOf(rows);
  if (all.length === 0) return null;
  const most = Math.max(1, ...all.map(({ ms = 0 }) => ms));
  const isMeasured = all.some(({ ms }) => ms !== undefined);
  return (
    <Card title="Who spoke" aside={<a href={playbackPage(app, meeting)}>See who spoke when</a>}>
      {isMeasured ? (
        <dl class="spoke">
          {all.map(({ id, name, ms }) => (
            <>
              <dt key={id} class="name" title={name}>
                {name}
              </dt>
              <Bar key={`${id} bar`} share={(ms ?? 0) / most} />
              <dd key={`${id} time`} class={ms ? "" : "muted"}>
                {ms === undefined ? "not measured" : ms === 0 ? "did not speak" : duration(Math.max(1, ms / 1000))}
              </dd>
            </>
          ))}
        </dl>
      ) : (
        <p class="muted">
          Speech was not measured in these recordings: an earlier version made them, or no one had a microphone.
        </p>
      )}
      {hasMore && <p class="muted small">Of the first {rows.length} recordings.</p>}
    </Card>
  );
}

/** Who spoke longest comes first. */
function spokeOf(rows: readonly Recording[]): Spoke[] {
  const found = new Map<string, Spoke>();
  for (const { participantSession: id, participantUsername: name, speechMs } of rows) {
    const one = found.get(id) ?? { id, name, ms: undefined };
    if (speechMs !== undefined) one.ms = (one.ms ?? 0) + speechMs;
    found.set(id, one);
  }
  return [...found.values()].sort((one, other) => (other.ms ?? -1) - (one.ms ?? -1));
}
