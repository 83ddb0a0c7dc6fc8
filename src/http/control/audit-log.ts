/** Control plane: the audit, newest first. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { type AppId, asAppId } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { AuditRow, AuditStore } from "../../store/contract/operators.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { limit, toSeconds, unixSeconds } from "../shared/schemas.ts";
import { pageOf, paging } from "./paging.ts";

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1000;

const details = lazily(() => z.record(z.string(), z.unknown()).optional());

const entry = lazily(() =>
  z
    .object({
      _id: z.string(),
      at: unixSeconds(),
      who: z
        .string()
        .describe("An operator's name, admin, a secret key's id, application secret, command line, or first start"),
      what: z.string(),
      on: z.string(),
      app: z.string().nullable().describe("Id of the application"),
      appName: z
        .string()
        .nullable()
        .describe("Its name; null for a deleted application, unless an entry of the same page has it"),
      address: z.string().nullable().describe("The client's address; null for the command line"),
      before: details().describe("The previous value; never a secret"),
      after: details(),
    })
    .meta({ id: "AuditEntry" }),
);

/** Entries about an application itself are on its name, which they keep when it is deleted. */
const namesIn = (rows: readonly AuditRow[]): ReadonlyMap<string | null, string> =>
  new Map(rows.filter(({ what }) => what.startsWith("app ")).map(({ app, on }) => [app, on]));

const auditFields = (row: AuditRow, appName: string | undefined): Infer<typeof entry> => ({
  _id: row.id,
  at: toSeconds(row.at),
  who: row.who,
  what: row.what,
  on: row.on,
  app: row.app,
  appName: appName ?? null,
  address: row.address,
  ...(row.before && { before: row.before }),
  ...(row.after && { after: row.after }),
});

const filter = lazily(() => z.string().min(1).max(256).optional());

export const auditEndpoint = (
  guard: Guard<Operator>,
  audit: Pick<AuditStore, "list">,
  /** An application, given its id or name; undefined: there is none now, but the audit may still know its id. */
  appOf: (idOrName: string) => { readonly id: AppId; readonly name: string } | undefined,
): Endpoint =>
  endpoint({
    tag: "operators",
    guard,
    scope: "app",
    method: "GET",
    path: "/api/internal/v1/audit",
    summary: "Changes made by operators, applications and commands, newest first; kept for 180 days",
    query: () =>
      paging().extend({
        limit: limit(PAGE_MAX, PAGE_DEFAULT).describe(`Entries per page; ${PAGE_DEFAULT} if it is absent`),
        app: filter().describe("Id or name of an application"),
        who: filter(),
        what: filter().describe("For example: key created"),
      }),
    response: () => z.object({ data: z.array(entry()), next: z.string().nullable() }),
    handle: async (_call, { query }) => {
      // Entries of an application that was deleted are found by its id.
      const app = query.app === undefined ? undefined : (appOf(query.app)?.id ?? asAppId(query.app));
      const rows = await audit.list({ ...query, app, limit: query.limit + 1 });
      const names = namesIn(rows);
      const nameOf = ({ app }: AuditRow): string | undefined =>
        app === null ? undefined : (appOf(app)?.name ?? names.get(app));
      return pageOf(
        rows,
        query.limit,
        (row) => row.id,
        (row) => auditFields(row, nameOf(row)),
      );
    },
  });
