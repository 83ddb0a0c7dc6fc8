/** What an application may use, what it has used in this period, and in those before. */
import { useSignal } from "@preact/signals";
import type { PageParameters } from "../../address/router.ts";
import { mayChange } from "../../api/session.ts";
import type { App, Plan } from "../../api/types.ts";
import type { Usage as Used, UsedPeriod } from "../../api/usage-types.ts";
import { currentApp } from "../../live/apps.ts";
import { useLive } from "../../live/live.ts";
import { day, percent, whole } from "../../text/format.ts";
import { Bar } from "../../ui/bar.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { NotFound } from "../not-found.tsx";
import { EditPlan } from "./usage-plan.tsx";

const REFRESH_MS = 5000;
const WARN_SHARE = 0.8;

export function Usage(_: { readonly at: PageParameters }) {
  const app = currentApp.value;
  return app ? <UsageOf app={app} /> : <NotFound />;
}

function UsageOf({ app }: { readonly app: App }) {
  const { data, error } = useLive<Used>(`/apps/${app._id}/usage?periods=24`, { everyMs: REFRESH_MS });
  const isEditing = useSignal(false);
  const periods = data?.data ?? [];
  return (
    <Page
      title="Usage"
      actions={
        mayChange.value && (
          <button type="button" class="primary" onClick={() => (isEditing.value = true)}>
            Edit plan and caps
          </button>
        )
      }
      intro="A period is a calendar month in UTC. A message counts once when it is published or sent, however many peers receive it."
      isReady={data !== undefined}
      error={error}
    >
      {data && periods[0] && <ThisPeriod used={periods[0]} now={data.concurrentNow} plan={app.plan} />}
      <Card title="This and past periods" aside="Peak: most concurrent connections">
        <Table
          label="Usage by period"
          columns={columnsOf(periods, app.plan)}
          rows={periods}
          keyOf={({ periodStartUnix }) => String(periodStartUnix)}
          empty={<Empty title="Nothing has been counted yet." />}
        />
      </Card>
      {isEditing.value && <EditPlan app={app} onClose={() => (isEditing.value = false)} />}
    </Page>
  );
}

interface ThisPeriodProps {
  readonly used: UsedPeriod;
  /** Open connections. */
  readonly now: number;
  readonly plan: Plan;
}

const ThisPeriod = ({ used, now, plan }: ThisPeriodProps) => (
  <div class="halves">
    <Card title="Messages" aside={`${day(used.periodStartUnix)} to ${day(used.periodEndUnix - 1)}`}>
      <Meter
        value={used.messagesUsed}
        cap={plan.maxMessagesPerPeriod}
        unit={
          used.messagesUsed === 1 && plan.maxMessagesPerPeriod === null ? "message this period" : "messages this period"
        }
        atCap={`Further messages are refused with over_message_quota until ${day(used.periodEndUnix)}.`}
      />
    </Card>
    <Card title="Connections" aside={`Plan: ${plan.name}`}>
      <Meter
        value={now}
        cap={plan.maxConcurrentConnections}
        unit={`open now, at most ${whole(used.peakConcurrent)} at the same time this period`}
        atCap="Further connections are closed with code 4010 until others end."
      />
    </Card>
  </div>
);

interface MeterProps {
  readonly value: number;
  readonly cap: number | null;
  readonly unit: string;
  /** What happens when the cap is reached. */
  readonly atCap: string;
}

/** Three lines in every case, so that nothing moves when a cap comes near. */
function Meter({ value, cap, unit, atCap }: MeterProps) {
  const share = cap === null ? 0 : cap === 0 ? 1 : value / cap;
  const kind = share >= 1 ? "bad" : share >= WARN_SHARE ? "warn" : undefined;
  return (
    <div class="stat meter">
      <div>
        <span class="value">{whole(value)}</span>{" "}
        <span class="unit">
          {cap !== null && `of ${whole(cap)} `}
          {unit}
        </span>
      </div>
      <Bar share={share} {...(kind && { kind })} />
      <p class={`small ${kind ?? "muted"}`}>
        {cap === null ? "The plan has no cap." : share >= 1 ? atCap : `${percent(share)} of the cap.`}
      </p>
    </div>
  );
}

/** Bars are relative to the cap, or to the largest period where there is none. */
function columnsOf(periods: readonly UsedPeriod[], plan: Plan): readonly Column<UsedPeriod>[] {
  const most = (of: (one: UsedPeriod) => number, cap: number | null): number =>
    Math.max(...periods.map(of), cap ?? 0, 1);
  const messages = most((one) => one.messagesUsed, plan.maxMessagesPerPeriod);
  const peak = most((one) => one.peakConcurrent, plan.maxConcurrentConnections);
  return [
    {
      title: "Period",
      cell: ({ periodStartUnix }) => <span class="nowrap">{MONTH.format(periodStartUnix * 1000)}</span>,
    },
    {
      title: "Messages",
      width: 40,
      isNumber: true,
      cell: (one) => <WithBar value={one.messagesUsed} most={messages} />,
    },
    { title: "Peak", width: 40, isNumber: true, cell: (one) => <WithBar value={one.peakConcurrent} most={peak} /> },
  ];
}

const WithBar = ({ value, most }: { readonly value: number; readonly most: number }) => (
  <span class="with-bar">
    <Bar share={value / most} />
    {whole(value)}
  </span>
);

const MONTH = new Intl.DateTimeFormat("en", { month: "short", year: "numeric", timeZone: "UTC" });
