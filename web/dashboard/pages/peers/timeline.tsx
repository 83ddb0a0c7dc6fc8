/** The last events of a peer's connections, newest first, as the flight recorder keeps them. */
import type { RecordedEvent } from "../../api/types.ts";
import { roleOf, sentenceOf } from "../../text/event-text.ts";
import { Empty } from "../../ui/notice.tsx";
import { Badge, Time } from "../../ui/values.tsx";

export function PeerTimeline({ recent }: { readonly recent: readonly RecordedEvent[] }) {
  if (recent.length === 0) return <Empty title="No events recorded." />;
  // Events of several connections: each says which one.
  const hasSeveral = new Set(recent.map(({ connectionId }) => connectionId)).size > 1;
  const newest = recent.toReversed();
  return (
    <ol class="timeline">
      {newest.map((event, at) => (
        <li key={`${event.at}-${event.connectionId}-${newest.length - at}`}>
          <span class="muted small">
            <Time at={event.at / 1000} />
          </span>
          <Badge kind={roleOf(event.kind)}>{event.kind}</Badge>
          <span>
            {sentenceOf(event)}
            {hasSeveral && event.connectionId && <span class="muted small"> Connection {event.connectionId}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}
