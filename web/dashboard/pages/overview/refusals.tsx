/** Refused connects: how many, why, and those that belong to no application because their key or token is not known. */
import { refusalsPage } from "../../address/links.ts";
import { BASE } from "../../address/router.ts";
import { segment } from "../../api/client.ts";
import type { Range, Series } from "../../api/types.ts";
import { reasonsOf } from "../../live/totals.ts";
import { whole } from "../../text/format.ts";
import { Bar } from "../../ui/bar.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { RANGE_TITLES } from "../../ui/range.tsx";
import { Name } from "../../ui/values.tsx";

const REASONS_SHOWN = 5;

interface RefusalsProps {
  readonly of: Series;
  /** Those of no application. */
  readonly unknown: Series;
  readonly range: Range;
  /** undefined: all applications, and those of none. */
  readonly app: string | undefined;
}

export const countOf = (series: Series): number => reasonsOf(series).reduce((sum, [, count]) => sum + count, 0);

export function Refusals({ of: series, unknown, range, app }: RefusalsProps) {
  const reasons = reasonsOf(series);
  const all = countOf(series);
  const ofNone = countOf(unknown);
  const most = reasons[0]?.[1] ?? 0;
  const rest = reasons.slice(REASONS_SHOWN).reduce((sum, [, count]) => sum + count, 0);
  const root = app === undefined ? BASE : `${BASE}/apps/${segment(app)}`;
  const sentence = app === undefined ? "in all" : "for this application";
  const toAll = refusalsPage(app, { kind: "refuse" });
  return (
    <Card title="Refused connects" aside={`last ${RANGE_TITLES[range]}`} class="refusals">
      <p class="refused-sums">
        {all > 0 ? (
          <a href={toAll}>
            <b class="bad">{whole(all)}</b> {sentence} →
          </a>
        ) : (
          <span>
            <b>0</b> {sentence}
          </span>
        )}
        {ofNone > 0 ? (
          <a href={refusalsPage(undefined, { credentials: "unknown" })}>{whole(ofNone)} with unknown credentials →</a>
        ) : (
          <span class="muted">none with unknown credentials</span>
        )}
      </p>
      {reasons.length === 0 ? (
        <Nothing isOthers={ofNone > 0} />
      ) : (
        <table class="bars" aria-label="Refused connects by reason">
          <colgroup>
            <col width="55%" />
            <col width="18%" />
            <col />
          </colgroup>
          <tbody>
            {reasons.slice(0, REASONS_SHOWN).map(([reason, count]) => (
              <tr key={reason}>
                <th scope="row" class="row-title">
                  <Name href={refusalsPage(app, { kind: "refuse", code: reason })}>{reason}</Name>
                </th>
                <td class="number">{whole(count)}</td>
                <td>
                  <Bar share={count / most} kind="bad" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="small muted at-the-end">
        {rest > 0 && `${whole(rest)} more for other reasons. `}
        <a href={`${root}/why-not`}>Find out why</a> a key or token is refused, or{" "}
        <a href={`${root}/console?kind=refuse`}>watch refusals live</a>.
      </p>
    </Card>
  );
}

/** A key with a typing mistake belongs to no application: the page of the application is where people look first. */
const Nothing = ({ isOthers }: { readonly isOthers: boolean }) =>
  isOthers ? (
    <Empty title="No refusals for this application">
      If your client cannot connect, check its key: a mistyped key belongs to no application, so its connects are
      counted above.
    </Empty>
  ) : (
    <Empty title="No refused connects" />
  );
