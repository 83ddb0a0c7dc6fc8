/** Where clients reach the service, for the snippets: the dashboard may be on an address of its own. */

import type { SettingRow } from "../api/types.ts";
import { useLive } from "./live.ts";

export function useOrigin(): string {
  const { data } = useLive<{ readonly data: readonly SettingRow[] }>("/settings");
  const [first = ""] = String(data?.data.find(({ name }) => name === "PARLEY_PUBLIC_URL")?.value ?? "").split(",");
  return /^https?:\/\/\S+$/.test(first.trim()) ? first.trim().replace(/\/$/, "") : location.origin;
}
