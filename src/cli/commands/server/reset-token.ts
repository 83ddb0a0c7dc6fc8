/** `parley admin reset-token`, on the store of a stopped server. */
import { existsSync } from "node:fs";
import { giveToOwner } from "../../../base/give-to-owner.ts";
import { loadForDataFolder } from "../../../config/load.ts";
import type { Config } from "../../../config/settings.ts";
import { hadFirstRun, hasAdminToken, resetAdminToken } from "../../../node/parts/first-run.ts";
import { StoreError } from "../../../store/contract/store.ts";
import { foundEmbedded, foundPostgres } from "../../../store/found.ts";
import { schemaVersion } from "../../../store/migrate.ts";
import { openStore, sqliteFile } from "../../../store/open.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { UPGRADE_LINES } from "../../terminal/upgrade-lines.ts";
import { audit } from "./audited.ts";

export async function resetToken(input: Input): Promise<CommandResult> {
  const { config } = loadForDataFolder(input.flags, input.env);
  const isEmbedded = config.databaseUrl === "";
  // Opening a missing store would create an empty one.
  if (isEmbedded && !existsSync(sqliteFile(config.data)))
    throw new StoreError(`${config.data} has no store; pass the data folder with --data`);
  await confirmUpgrade(input, config);
  const store = await openStore(config.data, config.databaseUrl, UPGRADE_LINES);
  try {
    // The first start of a server makes an admin token.
    if (!isEmbedded && !(await hadFirstRun(store)))
      throw new StoreError("PARLEY_DATABASE_URL: no server has been started on this database yet");
    if (await hasAdminToken(store)) await confirm(input, "replace the admin token, and end the current one");
    const adminToken = await resetAdminToken(store);
    const notes = [
      "Save the admin token now: it is not shown again.",
      ...(await audit(store, "admin token reset", "admin")),
    ];
    if (config.adminToken !== "")
      notes.push("PARLEY_ADMIN_TOKEN is set: a server started with it uses that token instead of this one.");
    if (!isEmbedded) notes.push("Running servers accept it within a second.");
    return { value: { adminToken }, text: `${adminToken}\n`, notes };
  } finally {
    await store.close();
    // The copy that an upgrade makes.
    giveToOwner(config.data);
  }
}

/** With PostgreSQL, servers of an earlier version may be running, and they could not be started again. */
async function confirmUpgrade(input: Input, { data, databaseUrl }: Config): Promise<void> {
  const { schema } = databaseUrl === "" ? foundEmbedded(data) : await foundPostgres(databaseUrl);
  if (schema > 0 && schema < schemaVersion())
    await confirm(
      input,
      `upgrade the store from schema ${schema} to ${schemaVersion()}, on which earlier versions do not start`,
    );
}
