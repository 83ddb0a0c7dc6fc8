/** The log of a webhook: every attempt, newest first; events are sent again from here. */
import { useSignal } from "@preact/signals";
import { WEBHOOK_EVENTS } from "../../../../src/protocol/webhook-events.ts";
import { BASE, parameters, rawPath, setParameters } from "../../address/router.ts";
import { post, query, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { Webhook, WebhookDelivery } from "../../api/webhook-types.ts";
import { CHANGES_EVERY_MS, useKept, useList } from "../../live/live.ts";
import { whole } from "../../text/format.ts";
import { TERMS } from "../../text/terms.ts";
import { outcomeOf } from "../../text/webhook-text.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Segmented, Select } from "../../ui/fields.tsx";
import { ListFoot } from "../../ui/list-foot.tsx";
import { Empty, messageOf, Notice, toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name, Time } from "../../ui/values.tsx";
import { DeliveryDetails } from "./delivery.tsx";
import { ReplayDialog } from "./replay.tsx";

/** The most attempts that the call answers at once. */
const PAGE_MAX = 100;

const OUTCOMES = [
  ["", "All"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
] as const;
const EVENTS = [["", "every event"], ...WEBHOOK_EVENTS.map((type) => [type, type] as const)] as const;

/** One attempt, on the same page. */
function addressOf(delivery: string): string {
  const wanted = new URLSearchParams(parameters.value);
  wanted.set("delivery", delivery);
  return `${BASE}${rawPath.value}?${wanted}`;
}

interface LogProps {
  readonly of: Webhook;
  readonly path: string;
  readonly reload: () => Promise<void>;
}

export function Log({ of: webhook, path, reload }: LogProps) {
  const chosen = parameters.value;
  const [outcome] = OUTCOMES.find(([one]) => one === chosen.get("status")) ?? OUTCOMES[0];
  const [event] = EVENTS.find(([one]) => one === chosen.get("event")) ?? EVENTS[0];
  const list = useList<WebhookDelivery>(`${path}/deliveries${query({ status: outcome, event })}`, {
    limitMax: PAGE_MAX,
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const rows = useKept(list.data);
  const isReplaying = useSignal(false);
  const opened = rows?.find(({ _id }) => _id === chosen.get("delivery"));
  const sentAgain = async (): Promise<void> => {
    await Promise.all([list.reload(), reload()]);
  };
  const resend = async (one: WebhookDelivery): Promise<void> => {
    try {
      await post(`${path}/deliveries/${segment(one._id)}/resend`);
      toast(`Event ${one.seq}, ${one.type}, is being resent.`);
      await sentAgain();
    } catch (error) {
      toast(messageOf(error), "bad");
    }
  };
  return (
    <Card
      title="Deliveries"
      aside={
        mayChange.value && (
          <button type="button" onClick={() => (isReplaying.value = true)}>
            Replay …
          </button>
        )
      }
    >
      <div class="toolbar log-filters">
        <Segmented
          label="Outcome"
          value={outcome}
          options={OUTCOMES}
          onChange={(status) => setParameters({ status })}
        />
        <Select label="Event" value={event} options={EVENTS} onChange={(value) => setParameters({ event: value })} />
        <span class="push">
          <DownloadCsv
            name="deliveries"
            columns={columnsOf(resend)}
            rows={rows ?? []}
            all={list.hasMore ? list.all : undefined}
          />
        </span>
      </div>
      {list.error && <Notice kind="bad">{list.error.message}</Notice>}
      {rows && (
        <Table
          label="Deliveries"
          isVirtual
          sortIn="sort"
          columns={columnsOf(resend)}
          rows={rows}
          keyOf={({ _id }) => _id}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          empty={<NoDeliveries of={webhook} isFiltered={outcome !== "" || event !== ""} />}
        />
      )}
      <ListFoot list={list} what="attempts" />
      {opened && (
        <DeliveryDetails
          of={opened}
          onResend={mayChange.value ? () => resend(opened) : undefined}
          onClose={() => setParameters({ delivery: "" }, { isPassing: true })}
        />
      )}
      {isReplaying.value && <ReplayDialog path={path} onDone={sentAgain} onClose={() => (isReplaying.value = false)} />}
    </Card>
  );
}

const NoDeliveries = ({ of: webhook, isFiltered }: { readonly of: Webhook; readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No attempts match the filters." />
  ) : (
    <Empty title="Nothing has been sent yet.">
      {webhook.disabled
        ? "It is disabled: enable it, and each attempt to send an event appears here."
        : "Each attempt to send an event appears here, within five seconds. Tests are not listed."}
    </Empty>
  );

const columnsOf = (resend: (one: WebhookDelivery) => Promise<void>): readonly Column<WebhookDelivery>[] => [
  {
    title: "Status",
    rem: 7.4,
    value: outcomeOf,
    cell: (one) => <Badge kind={one.succeeded ? "good" : "bad"}>{outcomeOf(one)}</Badge>,
  },
  {
    title: "Event",
    value: ({ type }) => type,
    cell: ({ _id, type }) => (
      <a class="name mono" title={type} href={addressOf(_id)}>
        {type}
      </a>
    ),
    below: ({ attempt, at }) => (
      <>
        <Time at={at} />, try {attempt}
      </>
    ),
  },
  {
    title: "Number",
    meaning: TERMS.deliveryNumber,
    rem: 7,
    isNumber: true,
    isMinor: true,
    value: ({ seq }) => seq,
    cell: ({ seq }) => whole(seq),
  },
  {
    title: "Attempt",
    rem: 6,
    isNumber: true,
    isMinor: true,
    value: ({ attempt }) => attempt,
    cell: ({ attempt }) => whole(attempt),
  },
  { title: "When", rem: 7.25, isMedium: true, value: ({ at }) => at, isTime: true, cell: ({ at }) => <Time at={at} /> },
  {
    title: "Took",
    rem: 6.5,
    isNumber: true,
    isMedium: true,
    value: ({ tookMs }) => tookMs,
    cell: ({ tookMs }) => `${whole(tookMs)} ms`,
  },
  {
    title: "Error",
    width: 22,
    isMedium: true,
    value: reasonOf,
    cell: (one) => <Reason of={one} />,
  },
  ...(mayChange.value
    ? [
        {
          title: "Again",
          rem: 6,
          cell: (one: WebhookDelivery) => (
            <button
              type="button"
              class="small"
              aria-label={`Resend event ${one.seq}, attempt ${one.attempt}`}
              onClick={() => resend(one)}
            >
              Resend
            </button>
          ),
        },
      ]
    : []),
];

/** Why it failed: what went wrong, or else what came back. */
const reasonOf = ({ succeeded, error, response }: WebhookDelivery): string =>
  succeeded ? "" : (error ?? "") || (response ?? "");

function Reason({ of }: { readonly of: WebhookDelivery }) {
  const text = reasonOf(of);
  return text ? <Name>{text}</Name> : null;
}
