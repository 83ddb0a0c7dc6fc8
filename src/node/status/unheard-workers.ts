/** Workers of this machine that serve clients and that this one does not hear: their clients and those of this one are apart. */
import type { Team } from "../parts/team.ts";

/** A worker that is ready is heard within a moment, and one that has just ended may still be listed. */
const UNHEARD_AFTER_MS = 3000;

interface UnheardWorkersParts {
  readonly team: Pick<Team, "slot" | "state">;
  /** How many other workers this one hears. */
  readonly heard: () => number;
  readonly monotonicMs: () => number;
}

/** How many there are, for some seconds. To be asked again and again. */
export function unheardWorkers({ team, heard, monotonicMs }: UnheardWorkersParts): () => number {
  let sinceMs: number | undefined;
  return () => {
    const others = (team.state.serving ?? []).filter((slot) => slot !== team.slot);
    const unheard = others.length - heard();
    if (unheard <= 0) sinceMs = undefined;
    else sinceMs ??= monotonicMs();
    return sinceMs !== undefined && monotonicMs() - sinceMs >= UNHEARD_AFTER_MS ? unheard : 0;
  };
}
