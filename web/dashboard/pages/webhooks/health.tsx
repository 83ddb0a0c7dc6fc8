/** How a webhook is doing: its state, why, and numbers. */
import { nowSeconds } from "../../api/now.ts";
import type { Webhook } from "../../api/webhook-types.ts";
import { duration, exactTime, whole } from "../../text/format.ts";
import { healthOf, lastAnswer } from "../../text/webhook-text.ts";
import { Card } from "../../ui/page.tsx";
import { Badge, Time } from "../../ui/values.tsx";

function HealthBadge({ of: webhook }: { readonly of: Webhook }) {
  const { kind, text } = healthOf(webhook);
  return <Badge kind={kind}>{text}</Badge>;
}

/** How long that has lasted, on a line of its own: as it grows, nothing else moves. */
const Since = ({ at }: { readonly at: number }) => (
  <time class="nowrap" title={exactTime(at)}>
    for {duration(nowSeconds.value - at)}
  </time>
);

/** Why it fails, how many wait and how many were dropped. */
export function healthDetails(webhook: Webhook): string[] {
  const { why } = healthOf(webhook);
  const { waiting, failed, dropped } = webhook.health;
  const counts = [
    [waiting, "waiting"],
    [failed, "failed"],
    [dropped, "dropped"],
  ] as const;
  return [
    ...(why === undefined ? [] : [why]),
    ...counts.filter(([count]) => count > 0).map(([count, what]) => `${whole(count)} ${what}`),
  ];
}

/** The badge, and below it since when, and the details. On phones those are below the name. */
export function HealthCell({ of: webhook }: { readonly of: Webhook }) {
  const { since } = healthOf(webhook);
  const details = healthDetails(webhook);
  return (
    <div class="values">
      <HealthBadge of={webhook} />
      {since && (
        <span class="muted small medium">
          <Since at={since} />
        </span>
      )}
      {details.length > 0 && <span class="muted small medium">{details.join(" · ")}</span>}
    </div>
  );
}

export function Health({ of: webhook }: { readonly of: Webhook }) {
  const { health } = webhook;
  const { text, since, why } = healthOf(webhook);
  const last = lastAnswer(health);
  const numbers = [
    ["Delivered", health.delivered, "events that your backend accepted"],
    ["Waiting", health.waiting, "to be sent, or sent again"],
    ["Failed", health.failed, "out of attempts: replay sends them again"],
    ["Dropped", health.dropped, "because too many were waiting"],
  ] as const;
  return (
    <Card title="Health" aside={<HealthBadge of={webhook} />}>
      <div class="stack">
        <div class="numbers">
          {numbers.map(([name, count, meaning]) => (
            <div key={name} class="stat">
              <h3 class="label">{name}</h3>
              <div class="value">{whole(count)}</div>
              <div class="muted small">{meaning}</div>
            </div>
          ))}
        </div>
        <dl class="facts">
          <dt>Last delivery</dt>
          <dd>
            <Time at={health.lastSuccess} />
          </dd>
          <dt>Last attempt</dt>
          <dd>
            <Time at={health.lastAttempt} />
          </dd>
          {last !== undefined && (
            <>
              <dt>Last response</dt>
              <dd>{last}</dd>
            </>
          )}
          {since && (
            <>
              <dt>State</dt>
              <dd>
                {text} <Since at={since} />
              </dd>
            </>
          )}
          {webhook.disabled && (
            <>
              <dt>Why</dt>
              <dd>{why}; what happens meanwhile is not kept for it</dd>
            </>
          )}
          {health.slowUntil !== null && (
            <>
              <dt>Slowed down</dt>
              <dd>
                until <Time at={health.slowUntil} />: it has asked for fewer requests
              </dd>
            </>
          )}
        </dl>
      </div>
    </Card>
  );
}
