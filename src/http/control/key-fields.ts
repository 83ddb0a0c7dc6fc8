/** A key as the control plane shows it. */
import { z } from "zod";
import { isLive, type Keyring } from "../../access/keys/keyring.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { KeyRow } from "../../store/contract/store.ts";
import { actions, toSeconds, toSecondsOrNull, unixSeconds } from "../shared/schemas.ts";

export const key = lazily(() =>
  z
    .object({
      keyId: z.string(),
      app: z.string(),
      type: z.enum(["publishable", "secret"]),
      label: z.string().nullable(),
      channelPatterns: z.array(z.string()),
      actions: actions(),
      allowedOrigins: z.array(z.string()).optional(),
      turn: z.boolean().describe("Whether the welcome has ICE servers, with credentials for TURN"),
      created: unixSeconds(),
      rotated: unixSeconds().nullable(),
      revoked: unixSeconds().nullable(),
      previousSecrets: z
        .array(z.object({ endsAt: unixSeconds() }))
        .describe("Previous secrets that still verify tokens, and until when; newest first"),
    })
    .meta({ id: "Key" }),
);

interface KeyFieldsParts {
  readonly keyring: Keyring;
  readonly nowMs: () => number;
}

export const keyFields = (row: KeyRow, parts: KeyFieldsParts): Infer<typeof key> => ({
  keyId: row.id,
  app: row.app,
  type: row.type,
  label: row.label,
  channelPatterns: [...row.channelPatterns],
  actions: [...row.actions],
  ...(row.allowedOrigins && { allowedOrigins: [...row.allowedOrigins] }),
  turn: row.turn,
  created: toSeconds(row.created),
  rotated: toSecondsOrNull(row.rotated),
  revoked: toSecondsOrNull(row.revoked),
  previousSecrets: previousSecrets(row.id, parts),
});

/** From memory: the list of all keys needs no query per key. */
function previousSecrets(keyId: string, { keyring, nowMs }: KeyFieldsParts): { endsAt: number }[] {
  const live = keyring.key(keyId);
  if (!live || live.type === "publishable") return [];
  const now = nowMs();
  return live.secrets.flatMap((secret) =>
    secret.ends !== null && isLive(secret, now) ? [{ endsAt: toSeconds(secret.ends) }] : [],
  );
}
