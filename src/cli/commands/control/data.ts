/** `parley data`: what a service keeps, and how long. */
import { humanBytes } from "../../../base/human-bytes.ts";
import { controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";
import { type Cell, table } from "../../terminal/output.ts";

interface Now {
  readonly count: number | null;
  readonly bytes: number | null;
  readonly isAbout: boolean;
}

interface Kept {
  readonly title: string;
  readonly kept: string;
  readonly limit: string;
  readonly counted: string | null;
  readonly now: Now;
  readonly places: readonly string[];
  readonly change: readonly { readonly command?: string; readonly setting?: string }[];
}

interface WhatIsKept {
  readonly places: readonly {
    readonly id: string;
    readonly where: string;
    readonly bytes: number | null;
    readonly isAbout: boolean;
  }[];
  readonly data: readonly Kept[];
}

const ABOUT = "about ";

/** "about 12,000 messages, 3.1 MiB". */
function nowText({ counted, now: { count, bytes, isAbout } }: Kept): string | undefined {
  const parts = [
    ...(count === null ? [] : [`${count.toLocaleString("en")} ${counted ?? ""}`.trim()]),
    ...(bytes === null ? [] : [humanBytes(bytes)]),
  ];
  return parts.length === 0 ? undefined : `${isAbout ? ABOUT : ""}${parts.join(", ")}`;
}

/** A line for each limit that can be changed; the same one may bound several things. */
function changesOf(data: readonly Kept[]): Cell[][] {
  const titles = new Map<string, string[]>();
  for (const { title, change } of data)
    for (const { command, setting } of change) {
      const how = command ?? setting ?? "";
      titles.set(how, [...new Set([...(titles.get(how) ?? []), title])]);
    }
  return [...titles].map(([how, of]) => [of.join(", "), how]);
}

export async function data(input: Input): Promise<CommandResult> {
  const app = input.text("app");
  const path = app === undefined ? "/data" : `/apps/${encodeURIComponent(app)}/data`;
  const found = await controlPlane(input).get<WhatIsKept>(path);
  const rows = found.data.map((one) => [one.title, nowText(one), one.kept, one.limit, one.places[0]]);
  const places = found.places.map(({ id, where, bytes, isAbout }) => [
    id,
    // What all applications take says nothing about one of them.
    ...(app === undefined ? [bytes === null ? undefined : `${isAbout ? ABOUT : ""}${humanBytes(bytes)}`] : []),
    where,
  ]);
  return {
    value: found,
    text: [
      table(["WHAT", "NOW", { prose: "KEPT" }, { prose: "AT MOST" }, "PLACE"], rows),
      table(["TO CHANGE", "USE"], changesOf(found.data)),
      table(["PLACE", ...(app === undefined ? ["BYTES"] : []), "WHERE"], places),
    ].join("\n"),
    notes: ["Everything else is fixed; docs/data.md explains why."],
  };
}
