/** What stands below a live list: how much of it is shown, and how to refresh one that is too long to do so by itself. */
import { whole } from "../lib/format.ts";
import type { LiveList } from "../lib/live.ts";

interface ListFootProps {
  readonly list: Pick<LiveList<unknown>, "data" | "hasMore" | "isTooLong" | "reload">;
  /** What is listed, in the plural. */
  readonly what: string;
}

export function ListFoot({ list: { data, hasMore, isTooLong, reload }, what }: ListFootProps) {
  const count = data?.length ?? 0;
  if (count === 0) return null;
  const refresh = async (): Promise<void> => {
    scrollTo(0, 0);
    await reload();
  };
  return (
    <p class="list-foot muted small">
      {hasMore ? `The first ${whole(count)} ${what}; scroll for more.` : `${whole(count)} ${what}.`}
      {isTooLong && " A list of this length is not refreshed by itself."}{" "}
      {isTooLong && (
        <button type="button" class="small" onClick={refresh}>
          Refresh from the top
        </button>
      )}
    </p>
  );
}
