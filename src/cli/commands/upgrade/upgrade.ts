/** `parley upgrade --check`: what a start of this version would do. Parley does not replace itself: whatever installed it does. */
import { humanBytes } from "../../../base/human-bytes.ts";
import { loadForDataFolder } from "../../../config/load.ts";
import { VERSION } from "../../../version.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";
import { fields, listed, table } from "../../terminal/output.ts";
import { estimatedSeconds } from "./estimate.ts";
import { embeddedPlan, isUpgrade, type Plan, postgresPlan, type SchemaChange } from "./plan.ts";
import { EARLIER_RELEASES, releaseWith } from "./releases.ts";
import { type SettingChanges, settingChanges } from "./settings-changes.ts";

const PAGE = "docs/upgrading.md says how to upgrade each form of installation, and how to go back.";

/** As docs/install.md names the forms. */
const WAYS: readonly (readonly [form: string, way: string])[] = [
  ["install.sh", "run it again, and restart the service"],
  ["one file", "move the new file over the old one, and restart the service"],
  ["npm", "npm install parley-server@VERSION, and restart the service"],
  ["Debian package", "apt-get install ./parley_VERSION_amd64.deb, which restarts it"],
  ["image", "pull the new image, and start the container again with the same volume"],
  ["Helm chart", "helm upgrade parley parley-helm-VERSION.tgz -n parley --reuse-values"],
  ["a clone", "git pull, and restart the service"],
];

export async function upgrade(input: Input): Promise<CommandResult> {
  return input.isOn("check") ? check(input) : ways();
}

/** Exit code 1: nothing was upgraded. */
const ways = (): CommandResult => ({
  value: { upgraded: false, ways: Object.fromEntries(WAYS) },
  text: table(["INSTALLED WITH", "UPGRADE"], WAYS),
  notes: [
    `Nothing was upgraded: Parley does not replace itself. Run "parley upgrade --check" with the new version to see what starting it would do.`,
    PAGE,
  ],
  refused: true,
});

async function check(input: Input): Promise<CommandResult> {
  const { config, warnings } = loadForDataFolder(input.flags, input.env);
  const isEmbedded = config.databaseUrl === "";
  const plan = isEmbedded ? embeddedPlan(config.data) : await postgresPlan(config.databaseUrl);
  const changes = settingChangesOf(plan, input);
  const seconds = estimatedSeconds(plan);
  const { problems } = plan;
  return {
    value: { version: VERSION, ...jsonOf(plan), seconds, settings: changes, problems },
    text: textOf(plan, changes, seconds),
    notes: [
      ...warnings,
      "This used the settings of this shell and this folder: run it with the service's environment.",
      ...(isUpgrade(plan.store) && !isEmbedded
        ? ["Copy the database first: pg_dump --format=custom --file=FILE. The start does not do it for you."]
        : []),
      PAGE,
    ],
    refused: problems.length > 0,
  };
}

/** Compared with the release that was found; a state between two releases counts as the earlier one. */
function settingChangesOf({ version, store }: Plan, { env }: Input): SettingChanges {
  const isSame = version === VERSION || store.schema === 0;
  const before = EARLIER_RELEASES.find((one) => one.version === version || one.schema <= store.schema);
  return isSame || !before ? { added: [], gone: [] } : settingChanges(before, env);
}

const versionOf = ({ version, store: { schema } }: Plan): string | undefined => version ?? releaseWith(schema)?.version;

function jsonOf(plan: Plan): object {
  const change = ({ schema, schemaAfter, copy }: SchemaChange): object => ({
    schema,
    schemaAfter,
    copy: copy
      ? { file: copy.file, bytes: copy.bytes, freeBytes: copy.freeBytes, fits: copy.lack === undefined }
      : null,
  });
  const { running } = plan;
  return {
    found: versionOf(plan) ?? null,
    place: plan.place,
    store: { ...change(plan.store), migrations: isUpgrade(plan.store) ? plan.store.migrations : [] },
    history: change(plan.history),
    server: { state: running.state, ...(running.state === "running" && { version: running.version ?? null }) },
  };
}

function textOf(plan: Plan, { added, gone }: SettingChanges, seconds: number): string {
  const { store, history, place, problems } = plan;
  return fields({
    "this version": VERSION,
    found: store.schema === 0 ? `no store in ${place}` : `${foundText(plan)}, in ${place}`,
    server: serverText(plan),
    store: changeText(store, "a start makes it", store.migrations),
    ...copyText("copy", store),
    history: changeText(history, "a start makes it", []),
    ...copyText("copy of it", history),
    time: seconds === 0 ? undefined : `about ${Math.ceil(seconds)} s; longer on a slow disk`,
    settings: settingsText(added, gone),
    verdict: problems.length > 0 ? `a start would fail: ${problems.join("; ")}` : verdictOf(plan),
  });
}

function foundText(plan: Plan): string {
  const version = versionOf(plan);
  return version === undefined ? "a state between releases" : version;
}

function serverText({ running, place }: Plan): string {
  if (running.state === "stopped") return "none is running";
  if (running.state === "unclear") return `not clear: ${running.why}`;
  const { who, version } = running;
  const which = version === undefined ? "" : `, version ${version}`;
  return `running: ${who}${which}${place === "PostgreSQL" ? "" : "; stop it before you start this version"}`;
}

function changeText({ schema, schemaAfter }: SchemaChange, none: string, migrations: readonly string[]): string {
  if (schema === 0) return `none yet: ${none}, with schema ${schemaAfter}`;
  if (schema >= schemaAfter) return `schema ${schema}: stays as it is`;
  return `schema ${schema} → ${schemaAfter}${migrations.length > 0 ? ` (${migrations.join(", ")})` : ""}`;
}

function copyText(name: string, { copy }: SchemaChange): Record<string, string> {
  if (!copy) return {};
  const { file, bytes, freeBytes, lack } = copy;
  const fits = lack === undefined ? `${humanBytes(freeBytes)} are free` : `NO ROOM: ${lack}`;
  return { [name]: `${file}, at most ${humanBytes(bytes)}; ${fits}` };
}

function settingsText(added: readonly string[], gone: readonly string[]): string {
  const lost = gone.length > 0 ? `without effect from now on: ${gone.join(", ")}; ` : "";
  return `${lost}new: ${listed(added) ?? "none"}`;
}

function verdictOf(plan: Plan): string {
  if (plan.store.schema === 0) return "a start makes a new store";
  return isUpgrade(plan.store) || isUpgrade(plan.history)
    ? "a start of this version upgrades it; earlier versions do not start on it afterwards"
    : "a start of this version changes no schema";
}
