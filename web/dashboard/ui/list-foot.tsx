/** What stands below a long list: how much of it is shown. */
import type { LiveList } from "../live/live.ts";
import { whole } from "../text/format.ts";

interface ListFootProps {
  readonly list: Pick<LiveList<unknown>, "data" | "hasMore">;
  /** What is listed, in the plural. */
  readonly what: string;
  /** In place of the number of rows, once all are there. */
  readonly all?: string;
}

export function ListFoot({ list: { data, hasMore }, what, all }: ListFootProps) {
  const count = data?.length ?? 0;
  if (count === 0) return null;
  return (
    <p class="list-foot muted small">
      {hasMore
        ? `The first ${whole(count)} ${what}; scroll for more.`
        : (all ?? `${whole(count)} ${count === 1 ? what.slice(0, -1) : what}.`)}
    </p>
  );
}
