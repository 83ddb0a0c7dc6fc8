/** Where clients reach the service, for the snippets: the dashboard may be on an address of its own. */
import type { SettingRow } from "../api/types.ts";
import { useLive } from "./live.ts";
import { applicationOrigin, originFrom } from "./public-address.ts";

export function useOrigin(): string {
  const { data } = useLive<{ readonly data: readonly SettingRow[] }>("/settings");
  return originFrom(data?.data ?? [], new URL(location.href));
}

/** Where browsers reach an application; undefined until it is known. */
export function useAppOrigin(app: string): string | undefined {
  const { data } = useLive<{ readonly data: readonly SettingRow[] }>("/settings");
  return data && applicationOrigin(data.data, new URL(location.href), app);
}
