/** Where clients reach the service, for the snippets: the dashboard may be on an address of its own. */
import { applicationOrigin, originFrom } from "../address/public-address.ts";
import type { SettingRow } from "../api/types.ts";
import { useLive } from "./live.ts";

export function useOrigin(): string {
  const { data } = useLive<{ readonly data: readonly SettingRow[] }>("/settings");
  return originFrom(data?.data ?? [], new URL(location.href));
}

/** Where browsers reach an application; undefined until it is known. */
export function useAppOrigin(app: string): string | undefined {
  const { data } = useLive<{ readonly data: readonly SettingRow[] }>("/settings");
  return data && applicationOrigin(data.data, new URL(location.href), app);
}
