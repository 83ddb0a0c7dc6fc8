/** One entry of the audit, with what it changed field by field. */
import type { ComponentChildren } from "preact";
import { BASE } from "../../address/router.ts";
import { query } from "../../api/client.ts";
import type { AuditEntry } from "../../api/types.ts";
import { nameOfApp } from "../../live/apps.ts";
import { differences } from "../../text/differences.ts";
import { exactTime } from "../../text/format.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/values.tsx";

/** Fields with Unix seconds are named like that. */
const TIME_FIELD = /(At|UnixSec)$/;

function Value({ field, value }: { readonly field: string; readonly value: unknown }) {
  if (typeof value === "number" && value > 1 && TIME_FIELD.test(field))
    return <span title={String(value)}>{exactTime(value)}</span>;
  if (value === undefined) return <span class="muted">–</span>;
  if (value === null || value === "") return <span class="muted">none</span>;
  if (Array.isArray(value) && value.every((one) => typeof one === "string"))
    return value.length === 0 ? <span class="muted">none</span> : <code class="lines">{value.join("\n")}</code>;
  return <code class="lines">{typeof value === "string" ? value : JSON.stringify(value, null, 1)}</code>;
}

export function AuditDetails({ entry, onClose }: { readonly entry: AuditEntry; readonly onClose: () => void }) {
  const { at, who, what, on, app, appName, address, before, after } = entry;
  const facts: readonly (readonly [title: string, value: ComponentChildren])[] = [
    [
      "When",
      <>
        {exactTime(at)} (<Time at={at} />)
      </>,
    ],
    ["Who", <a href={`${BASE}/audit${query({ who })}`}>{who}</a>],
    ["On", <code>{on}</code>],
    ["Application", app && <a href={`${BASE}/audit${query({ app: nameOfApp(app) })}`}>{appName ?? nameOfApp(app)}</a>],
    ["From", address && <code>{address}</code>],
  ];
  const changes = differences(before ?? {}, after ?? {});
  return (
    <Dialog title={what} onClose={onClose}>
      <div class="stack">
        <dl class="facts">
          {facts.map(([title, value]) =>
            value ? (
              <>
                <dt>{title}</dt>
                <dd>{value}</dd>
              </>
            ) : null,
          )}
        </dl>
        {changes.length > 0 && (
          <table class="changes" aria-label="What was changed">
            <thead>
              <tr>
                <th scope="col">Field</th>
                {before && <th scope="col">Before</th>}
                {after && <th scope="col">{before ? "After" : "Value"}</th>}
              </tr>
            </thead>
            <tbody>
              {changes.map((change) => (
                <tr key={change.field}>
                  <th scope="row" class="row-title">
                    {change.field}
                  </th>
                  {before && (
                    <td class="old-value">
                      <Value field={change.field} value={change.before} />
                    </td>
                  )}
                  {after && (
                    <td class="new-value">
                      <Value field={change.field} value={change.after} />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
        <div class="form-actions">
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
