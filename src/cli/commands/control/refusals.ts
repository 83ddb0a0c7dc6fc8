/** `parley refusals`: what was refused lately, on all nodes. */
import { controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { table, time } from "../../terminal/output.ts";

interface Refusal {
  readonly kind: "refuse" | "error";
  readonly code: string;
  readonly count: number;
  readonly last: number;
  /** Absent for connects with unknown credentials. */
  readonly app?: string;
  readonly appName?: string;
  readonly keyId?: string;
  readonly peerId?: string;
  /** In place of `keyId`, for unknown credentials. */
  readonly offered?: string;
  readonly channel?: string;
  readonly origin?: string;
  readonly address?: string;
}

interface Page {
  readonly data: readonly Refusal[];
  readonly next: string | null;
  readonly isComplete: boolean;
}

const LIMIT_MAX = 1000;
const LIMIT_DEFAULT = 50;
/** As people call them, and as the API does. */
const KINDS: Readonly<Record<string, string>> = { connect: "refuse", frame: "error" };

export async function refusals(input: Input): Promise<CommandResult> {
  const limit = input.whole("limit") ?? LIMIT_DEFAULT;
  if (limit < 1 || limit > LIMIT_MAX) throw new UsageError(`--limit is ${limit}; allowed: 1 to ${LIMIT_MAX}`);
  if (input.isOn("unknown") && input.text("app") !== undefined)
    throw new UsageError("--unknown does not go with --app: connects with unknown credentials belong to none");
  const kind = input.oneOf("kind", Object.keys(KINDS));
  const query = new URLSearchParams({
    limit: String(limit),
    ...(kind !== undefined && { kind: KINDS[kind] }),
    ...(input.isOn("unknown") && { credentials: "unknown" }),
  });
  for (const name of ["app", "code", "peer", "from", "after"]) {
    const value = input.text(name);
    if (value !== undefined) query.set(name, value);
  }
  const { data, next, isComplete } = await controlPlane(input).get<Page>(`/refusals?${query}`);
  const notes = isComplete ? [] : ["A node did not respond: its part is missing."];
  if (data.length === 0) return { value: data, text: "", notes: [...notes, "No refusals match in the last 24 hours."] };
  if (next !== null) notes.push(`More entries: --after ${next}`);
  const rows = data.map(
    ({ last, count, kind, code, app, appName, keyId, offered, peerId, channel, origin, address }) => [
      time(last),
      count,
      kind === "refuse" ? "connect" : "frame",
      code,
      app === undefined ? "(unknown)" : (appName ?? app),
      keyId ?? offered,
      peerId,
      channel,
      [address, origin].filter(Boolean).join(" on "),
    ],
  );
  return {
    value: data,
    text: table(["LAST", "TIMES", "WHAT", "CODE", "APP", "KEY", "PEER", "CHANNEL", "FROM"], rows),
    notes,
  };
}
